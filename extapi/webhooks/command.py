"""``extapi webhooks``: serves an API's conversion and admission as webhooks, until SIGTERM."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import click

from extapi.api.definition import Api
from extapi.loading.module import load_api
from extapi.server.command import load_and_parse, with_flags
from extapi.webhooks.options import FLAGS, WebhookOptions, parse_options


@click.command()
@click.argument("target", metavar="MODULE:NAME")
@partial(with_flags, FLAGS)
def webhooks(target: str, **raw: Any) -> None:
    """Answer the reviews of kube-apiserver about the kinds of the Api named NAME in MODULE, which it serves itself.

    The kinds are CustomResourceDefinitions there ('extapi crd export' prints them). Conversion, defaults, validation and
    admission are the functions that 'extapi serve' runs.
    """
    named = {flag.name: raw[flag.key] for flag in FLAGS}
    sys.exit(_run(*load_and_parse(lambda: load_api(target), lambda: parse_options(named))))


def _run(api: Api, options: WebhookOptions) -> int:
    """Run the process. Imports are in here so that ``--help`` and mistakes take no time."""
    from extapi.client.credentials import CredentialsError, NotInCluster  # noqa: PLC0415
    from extapi.listener.state import OnFinished  # noqa: PLC0415
    from extapi.server.reactor import run_process  # noqa: PLC0415
    from extapi.webhooks.process import WebhookProcess  # noqa: PLC0415

    def process(reactor: Any, access_log: OnFinished) -> WebhookProcess:
        try:
            return WebhookProcess(api, options, reactor, access_log)
        except NotInCluster as error:
            raise CredentialsError(
                f"{error}: give --kubeconfig, or run in a pod; plugins and controllers need the cluster"
            ) from error

    return run_process(process, (CredentialsError,))
