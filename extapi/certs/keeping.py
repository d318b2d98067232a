"""Making what is missing, and making the serving certificate anew in time. Run again, it finds nothing to do.

Works on one directory (:mod:`extapi.certs.directory`), and tells what it did in sentences. It never changes whom
clients trust: that is :mod:`extapi.certs.rotation`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from extapi.certs import directory
from extapi.certs.directory import Holdings, Paths, Stage
from extapi.certs.failure import CertsFailure
from extapi.certs.issuing import LEAF_LIFE, Authority, new_key
from extapi.certs.reading import hosts, moment, title
from extapi.certs.rotation import deliver, following, register, standing
from extapi.certs.serving import Names, check_validity, issue, names_of, new_authority

RENEWAL = dt.timedelta(days=30)
"""How long before its end a serving certificate is made anew."""
AUTHORITY_RENEWAL = dt.timedelta(days=180)
"""How long before its end an authority is due to be rotated."""

Say = Callable[[str], None]


def ensure(
    paths: Paths, names: Names | None, *, now: dt.datetime, renew_before: dt.timedelta = RENEWAL, say: Say
) -> None:
    """An authority, and a serving certificate of it for ``names`` that is good for ``renew_before`` and longer.

    ``names``: None for those that the certificate has. Names are only added: who asks under one finds it later, too.

    :raises CertsFailure: files are not as they have to be, or what is needed for a new certificate is missing.
    :raises OSError: files cannot be written.
    """
    if names is None and not paths.directory.is_dir():
        raise CertsFailure(f"there is no {paths.certificate} yet: say for whom it is, by --service and --namespace")
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
    """What somebody has to see to: modes of files, the end of an authority, a rotation that was not finished."""
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
    """The key first: a run that ends in between leaves a key that the next one takes."""
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
    """How long a new one would last: it does not outlive its authority."""
    end = now + LEAF_LIFE
    return min(end, holdings.issuer.not_valid_after_utc) if holdings.issuer else end


def _signer(paths: Paths, holdings: Holdings, reason: str) -> Authority:
    """The authority that may sign a new certificate without anybody having to be told."""
    signer, issuer = holdings.signer, holdings.issuer
    needed = f"a new {paths.certificate} is needed ({reason})"
    if signer is None:
        raise CertsFailure(
            f"{needed}, and {paths.authority_key} is missing: put the key of an authority in {paths.authorities} there; "
            f"if it is lost, get another authority by extapi certs rotate --dir {paths.directory}"
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
            f"{paths.certificate}: {title(holdings.leaf)} expires {moment(end)}, and is made anew by a run "
            f"after {moment(end - renew_before)}"
        )
