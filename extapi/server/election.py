"""The candidate of a process for the Lease of its API: which Lease, where, and by which name it competes."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from extapi.api.definition import Api
from extapi.client.credentials import SERVICE_ACCOUNT, CredentialsError
from extapi.client.kube import Client
from extapi.client.leaderelection import Election, LeaderElector
from extapi.server.electedcontrollers import Begin, End, MakeElector, runs_everywhere
from extapi.server.leaderoptions import LeaderOptions


def elects(api: Api, options: LeaderOptions, *, shared: bool) -> bool:
    """Whether a server competes: as ``--leader-elect`` says, else if others may serve from its store and it runs controllers.

    Where nothing needs a leader, it needs no Lease, and no right to one.

    Args:
        api: The API.
        options: The flags.
        shared: Whether other processes may use the same store.
    """
    if options.elect is not None:
        return options.elect
    return shared and not all(runs_everywhere(each) for each in api.controllers)


def election_of(api: Api, options: LeaderOptions, root: Path = SERVICE_ACCOUNT) -> Election:
    """What the flags say of the election.

    Args:
        api: The API.
        options: The flags.
        root: Where a pod finds its namespace.

    Raises:
        CredentialsError: Neither the flags nor the pod say where the Lease is.
    """
    name = options.name or next((group.name for group in api.groups if group.name), "")
    if not name:
        raise CredentialsError("--leader-elect-resource-name is needed: the API has no group to name the Lease after")
    namespace = options.namespace
    if not namespace:
        try:
            namespace = (root / "namespace").read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise CredentialsError(
                "--leader-elect-resource-namespace is needed outside of a pod: the namespace of the Lease by which one of "
                "several processes runs the controllers; or give --leader-elect=false"
            ) from None
    return Election(
        name=name,
        namespace=namespace,
        # As kube-controller-manager: two processes on one host differ.
        identity=f"{socket.gethostname()}_{uuid4()}",
        lease_duration=options.lease_duration,
        renew_deadline=options.renew_deadline,
        retry_period=options.retry_period,
    )


def candidate(client: Client, election: Election, reactor: Any, random: Random) -> MakeElector:
    """What makes the candidate.

    Args:
        client: Reads and writes the Lease.
        election: What it competes for.
        reactor: The reactor.
        random: For delays.
    """

    def make(started: Begin, stopped: End) -> LeaderElector:
        return LeaderElector(
            client,
            election,
            clock=reactor,
            timer=time.monotonic,
            jitter=random.random,
            started=started,
            stopped=stopped,
        )

    return make
