"""Makes what is missing, and renews the serving certificate in time. A second run has nothing to do.

Works on one directory (:mod:`extapi.certs.directory`), and says in sentences what it did. It never changes the authority
that clients trust: :mod:`extapi.certs.rotation` does.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from extapi.certs import directory
from extapi.certs.directory import Holdings, Paths, Stage
from extapi.certs.failure import CertsFailure
from extapi.certs.reading import hosts, moment, title
from extapi.certs.rotation import deliver, following, register, standing
from extapi.certs.serving import Names, check_validity, issue, names_of, new_authority
from extapi.issuing import LEAF_LIFE, Authority, new_key

RENEWAL = dt.timedelta(days=30)
"""How long before it expires a serving certificate is renewed."""
AUTHORITY_RENEWAL = dt.timedelta(days=180)
"""How long before it expires an authority should be rotated."""

Say = Callable[[str], None]


def ensure(
    paths: Paths, names: Names | None, *, now: dt.datetime, renew_before: dt.timedelta = RENEWAL, say: Say
) -> None:
    """Ensure an authority, and a serving certificate for ``names`` that is valid for longer than ``renew_before``.

    ``names``: None for the names of the present certificate. Names are only added, never removed, so that clients that use
    them keep working.

    Raises:
        CertsFailure: Files are wrong, or something needed for a new certificate is missing.
        OSError: Files cannot be written.
    """
    if names is None and not paths.directory.is_dir():
        raise CertsFailure(f"there is no {paths.certificate} yet: name its Service with --service and --namespace")
    with directory.held(paths):
        holdings = directory.load(paths)
        wanted = _wanted(paths, holdings, names)
        first = holdings.leaf is None
        if not holdings.authorities:
            holdings = _make_authority(paths, holdings, now, say)
        reason = _reason(holdings, wanted, now, renew_before)
        if reason:
            signed = issue(paths, holdings, _signer(paths, holdings, reason), wanted, now=now)
            say(f"made {paths.certificate} and {paths.key}: {reason}")
            say(f"  for {', '.join(hosts(signed.certificate))}")
            holdings = directory.load(paths)
        else:
            if holdings.issuer:
                check_validity(paths, holdings.issuer, now)
            say("nothing to do")
    _tell_ends(paths, holdings, renew_before, say)
    if first:
        say(f"next: {register(paths)}")
    if reason:
        say(f"next: {deliver(paths)}" + ("" if first else "; caBundle stays as it is"))


def warnings(paths: Paths, holdings: Holdings, *, now: dt.datetime, renew_before: dt.timedelta = RENEWAL) -> list[str]:
    """What an operator should attend to: modes of files, an expiring authority, an unfinished rotation."""
    found = paths.warnings()
    issuer = holdings.issuer
    if holdings.stage is not Stage.NONE:
        found.append("\n".join([f"a rotation is under way: {standing(holdings)}", *following(holdings.stage, paths)]))
    elif issuer and issuer.not_valid_after_utc - now < max(AUTHORITY_RENEWAL, renew_before):
        found.append(
            f"the authority {title(issuer)} in {paths.authorities} expires {moment(issuer.not_valid_after_utc)}, and no "
            f"certificate outlives it: it is time for extapi certs rotate --dir {paths.directory}"
        )
    return found


def _wanted(paths: Paths, holdings: Holdings, names: Names | None) -> Names:
    if names is None:
        return names_of(paths, holdings)
    has = hosts(holdings.leaf) if holdings.leaf else []
    return Names(names.common, list(dict.fromkeys([*names.hosts, *has])))


def _make_authority(paths: Paths, holdings: Holdings, now: dt.datetime, say: Say) -> Holdings:
    """Write the key first: an interrupted run leaves a key that the next run uses."""
    key = holdings.authority_key
    if key is None:
        key = new_key()
        directory.write_key(paths.authority_key, key)
    directory.write_authorities(paths, [new_authority(now, key)])
    say(f"made {paths.authorities} and {paths.authority_key}")
    return directory.load(paths)


def _reason(holdings: Holdings, wanted: Names, now: dt.datetime, renew_before: dt.timedelta) -> str:
    """Why a new serving certificate is needed; empty if it is not."""
    leaf = holdings.leaf
    if leaf is None:
        return "there was none"
    if not holdings.paired:
        return "the key of the one before is missing" if holdings.key is None else "the one before has another key"
    lacking = [host for host in wanted.hosts if host not in hosts(leaf)]
    if lacking:
        return f"the one before was not for {', '.join(lacking)}"
    if leaf.not_valid_before_utc > now:
        return f"the one before is valid from {moment(leaf.not_valid_before_utc)}"
    end = leaf.not_valid_after_utc
    if end - now <= renew_before and _end_of_next(holdings, now) > end:
        return f"the one before expires {moment(end)}"
    return ""


def _end_of_next(holdings: Holdings, now: dt.datetime) -> dt.datetime:
    """When a new one would expire: not later than its authority."""
    end = now + LEAF_LIFE
    return min(end, holdings.issuer.not_valid_after_utc) if holdings.issuer else end


def _signer(paths: Paths, holdings: Holdings, reason: str) -> Authority:
    """The authority that may sign a new certificate, one that clients already trust."""
    signer, issuer = holdings.signer, holdings.issuer
    needed = f"a new {paths.certificate} is needed ({reason})"
    if signer is None:
        raise CertsFailure(
            f"{needed}, and {paths.authority_key} is missing: put the key of an authority in {paths.authorities} there; "
            f"if it is lost, make another authority with extapi certs rotate --dir {paths.directory}"
        )
    if issuer and holdings.stage is Stage.BEGUN and issuer.public_key() != signer.certificate.public_key():
        raise CertsFailure(
            f"{needed}, and {paths.authority_key} is not the key of {title(issuer)}, which signed the one before: once both "
            f"authorities in {paths.authorities} are in the caBundle of each APIService, extapi certs rotate switch "
            f"--dir {paths.directory}"
        )
    return signer


def _tell_ends(paths: Paths, holdings: Holdings, renew_before: dt.timedelta, say: Say) -> None:
    for authority in holdings.authorities:
        say(f"{paths.authorities}: {title(authority)} expires {moment(authority.not_valid_after_utc)}")
    if holdings.leaf:
        end = holdings.leaf.not_valid_after_utc
        say(
            f"{paths.certificate}: {title(holdings.leaf)} expires {moment(end)}; a run after "
            f"{moment(end - renew_before)} renews it"
        )
