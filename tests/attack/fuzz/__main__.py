"""The long form: ``.venv/bin/python -m tests.attack.fuzz --requests 1000000``.

Some processes play episodes against servers in memory; then a share of the requests goes over TLS to a real process. What
is found goes to a file as it is found; the same command goes on where it was stopped. Exit status 1: something was found.
"""

from __future__ import annotations

import sys

from tests.attack.fuzz.campaign import main

sys.exit(main(sys.argv[1:]))
