"""Replaces the authority in three steps; the operator updates the cluster in between, so that no request fails.

1. *begin*: a new authority is added to ``ca.crt``; ``tls.crt`` is still signed by the old one.
2. *switch*: the new one signs ``tls.crt``. Clients that have ``ca.crt`` of step 1 trust it.
3. *finish*: the old one is removed from ``ca.crt``.

A repeated step only says what comes next. The next run completes an interrupted step.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

from extapi.certs import directory
from extapi.certs.directory import Holdings, Paths, Stage
from extapi.certs.failure import CertsFailure
from extapi.certs.reading import title, titles
from extapi.certs.serving import issue, names_of, new_authority
from extapi.issuing import new_key

DIRECTORY = Path("deploy/certs")
"""The default directory of certificates: beside the manifests."""
Say = Callable[[str], None]


def register(paths: Paths) -> str:
    """What makes kube-apiserver trust the authorities in ``ca.crt``."""
    file = "" if paths == Paths(DIRECTORY) else f" --ca-file {paths.authorities}"
    command = f"extapi manifests MODULE:NAME --patch-ca-bundle{file}"
    return f"put {paths.authorities} into the caBundle of each APIService ({command})"


def deliver(paths: Paths) -> str:
    """What makes the server serve with ``tls.crt``."""
    command = f"kubectl apply -k {paths.directory.parent}"
    return f"give {paths.certificate} and {paths.key} to the server, as its kubernetes.io/tls Secret ({command})"


def following(stage: Stage, paths: Paths) -> list[str]:
    """What to do in the cluster, and then to type, when a rotation is at ``stage``."""
    if stage is Stage.BEGUN:
        return [
            f"next: {register(paths)}: kube-apiserver then trusts the old authority and the new one",
            f"after that: extapi certs rotate switch --dir {paths.directory}",
        ]
    return [
        f"next: {deliver(paths)}",
        "and wait until every replica serves with them: a pod sees a changed Secret after a minute or two",
        f"after that: extapi certs rotate finish --dir {paths.directory}",
    ]


def begin(paths: Paths, *, now: dt.datetime, say: Say) -> None:
    """Make a new authority, to be trusted beside the old one. If the old one has expired, do all steps at once.

    Raises:
        CertsFailure: Files are wrong or missing.
        OSError: Files cannot be written.
    """
    _need(paths)
    with directory.held(paths):
        holdings = directory.load(paths)
        names_of(paths, holdings)  # what `switch` will need
        if holdings.stage is Stage.NONE:
            # The key first: an interrupted run leaves a key that the next run uses.
            key = holdings.next_key or new_key()
            directory.write_key(paths.next_key, key)
            added = new_authority(now, key)
            directory.write_authorities(paths, [*holdings.authorities, added])
            holdings = directory.load(paths)
            say(
                f"made the authority {title(added)}: its key is {paths.next_key}; {paths.authorities} has it beside the old one"
            )
        else:
            say(f"a rotation is under way: {standing(holdings)}")
    if holdings.issuer and holdings.issuer.not_valid_after_utc <= now:
        say("the old one has expired, so nobody trusts it any more: everything is replaced at once")
        switch(paths, now=now, say=_silently)
        finish(paths, say=_silently)
        say(f"next: {register(paths)}")
        say(f"next: {deliver(paths)}")
        return
    _say_following(holdings, paths, say)


def switch(paths: Paths, *, now: dt.datetime, say: Say) -> None:
    """Let the new authority sign the serving certificate.

    Raises:
        CertsFailure: Files are wrong, or no rotation has begun.
        OSError: Files cannot be written.
    """
    _need(paths)
    with directory.held(paths):
        holdings = directory.load(paths)
        if holdings.stage is Stage.NONE:
            raise CertsFailure(
                f"no rotation is under way in {paths.directory}: start one with extapi certs rotate --dir {paths.directory}"
            )
        if holdings.stage is Stage.BEGUN and holdings.upcoming:
            issue(paths, holdings, holdings.upcoming, names_of(paths, holdings), now=now)
            directory.settle(paths)
            say(f"made {paths.certificate} and {paths.key}, signed by {title(holdings.upcoming.certificate)}")
            holdings = directory.load(paths)
        else:
            say(f"already done: {standing(holdings)}")
    _say_following(holdings, paths, say)


def finish(paths: Paths, *, say: Say) -> None:
    """Remove the old authority.

    Raises:
        CertsFailure: Files are wrong, or the old authority is still needed.
        OSError: Files cannot be written.
    """
    _need(paths)
    with directory.held(paths):
        holdings = directory.load(paths)
        if holdings.stage is Stage.BEGUN:
            raise CertsFailure(
                f"{standing(holdings)}, so the old authority is still needed: "
                f"first run extapi certs rotate switch --dir {paths.directory}"
            )
        if holdings.stage is Stage.NONE:
            say("no rotation is under way: nothing to do")
            return
        old = holdings.old
        directory.write_authorities(paths, [each for each in holdings.authorities if each not in old])
    say(f"removed {titles(old)} from {paths.authorities}")
    say(f"next: {register(paths)}: kube-apiserver then trusts only the new authority. The rotation is done")


def standing(holdings: Holdings) -> str:
    """The stage of a rotation, as half a sentence."""
    signer = f"tls.crt is signed by {titles([holdings.issuer] if holdings.issuer else [])}"
    return signer if holdings.stage is Stage.BEGUN else f"{signer}, and ca.crt holds {titles(holdings.old)} as well"


def _need(paths: Paths) -> None:
    if not paths.directory.is_dir():
        raise CertsFailure(
            f"there is no directory {paths.directory}: name another one with --dir, or make it with extapi certs --service NAME "
            "--namespace NAME"
        )


def _silently(_text: str) -> None:
    """Print nothing: the step is part of another one."""


def _say_following(holdings: Holdings, paths: Paths, say: Say) -> None:
    for line in following(holdings.stage, paths):
        say(line)
