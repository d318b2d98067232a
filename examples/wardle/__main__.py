"""``python -m wardle FLAGS`` is ``extapi serve wardle:api FLAGS``, for commands without a subcommand."""

from __future__ import annotations

import runpy
import sys

if __name__ == "__main__":
    sys.argv = ["extapi", "serve", f"{__package__}:api", *sys.argv[1:]]
    runpy.run_module("extapi", run_name="__main__", alter_sys=True)
