"""The pizza API with a plugin that never returns: an object's name says in which way. The watchdog waits three seconds."""

from __future__ import annotations

import re
import signal

from extapi import Api, Review
from extapi.pizza import api as pizza
from extapi.server import watchdog


class Stuck:
    async def mutate(self, review: Review) -> None:
        match review.name:
            case "python":
                while True:
                    pass
            case "c":
                # Backtracks for years, within one call that keeps the interpreter's lock.
                re.match(r"(a+)+$", "a" * 60 + "b")


api = Api(*pizza.groups, admission=[*pizza.admission, Stuck()])
watchdog.PATIENCE = signal.SIGQUIT  # 3, and that many seconds
