"""``clock.*``: the clocks of kube-apiserver, of each server, and of this machine, by the Date header of answers. Pure.

kube-apiserver passes on the Date of an extension server with its discovery. Dates have whole seconds.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from extapi.doctor.duration import spell
from extapi.doctor.facts import Facts, Reading
from extapi.doctor.finding import Finding, error, ok, unknown, warning

SERVER, HERE = "clock.server", "clock.here"
NOTICEABLE = dt.timedelta(seconds=10)
"""Seconds; more than slow answers explain."""
HARMFUL = dt.timedelta(seconds=60)
"""Tokens are valid from a minute before they were issued (go-jose's leeway, which kube-apiserver has)."""
_WRONG = "new tokens and certificates are refused as not yet valid, and expired ones are accepted"
_DO = "let the clocks follow the same NTP servers: timedatectl, chronyc tracking"


def clocks(facts: Facts) -> Iterator[Finding]:
    """Compare kube-apiserver with this machine, then each server with kube-apiserver, through this machine."""
    here = _ahead(facts.config_map)
    if here is None:
        yield unknown(HERE, "kube-apiserver", "its responses have no Date")
    else:
        saw = f"kube-apiserver's clock is {_told(here)} this machine's"
        if abs(here) >= NOTICEABLE:
            # Only the operator has this clock: if the servers agree, the cluster is not at fault.
            wrong = "one of the two is wrong, or the response took long"
            yield warning(HERE, "kube-apiserver", saw=saw, wrong=wrong, do=_DO)
        else:
            yield ok(HERE, "kube-apiserver", "its clock and this machine's agree")
    for each in facts.registrations:
        reading = facts.discovery.get(each.name)
        if each.service is None or reading is None or not reading.found:
            continue  # what answered is not the server
        there = _ahead(reading)
        if there is not None and here is not None:
            yield _server(each.service.subject, there - here)


def _server(subject: str, skew: dt.timedelta) -> Finding:
    saw = f"the server's clock is {_told(skew)} kube-apiserver's"
    if abs(skew) >= HARMFUL:
        return error(SERVER, subject, saw=saw, wrong=_WRONG, do=_DO)
    if abs(skew) >= NOTICEABLE:
        return warning(
            SERVER, subject, saw=saw, wrong="with slightly more, tokens are refused as not yet valid", do=_DO
        )
    return ok(SERVER, subject, "the server's clock and kube-apiserver's agree")


def _ahead(reading: Reading) -> dt.timedelta | None:
    """How far the responding server's clock is ahead of this machine's."""
    if reading.date is None or reading.here is None:
        return None
    return reading.date - reading.here.replace(microsecond=0)


def _told(skew: dt.timedelta) -> str:
    return f"{spell(skew)} {'ahead of' if skew > dt.timedelta() else 'behind'}"
