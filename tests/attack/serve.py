"""``extapi`` with a store that forgets its past within seconds, where the product takes five minutes.

``python -m tests.attack.serve SECONDS serve TARGET ...``. What the product does is the same; only its patience is shorter.
"""

from __future__ import annotations

import sys
from functools import partial

from extapi.cli import main
from extapi.server import server
from extapi.storage.compaction import Compactor

COMMAND = ("-m", "tests.attack.serve")

if __name__ == "__main__":
    vars(server)["Compactor"] = partial(Compactor, interval=float(sys.argv.pop(1)))
    main()
