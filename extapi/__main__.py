"""``python -m extapi``: the ``extapi`` command, if its script is not on PATH."""

from __future__ import annotations

from extapi.cli import main

if __name__ == "__main__":
    main()
