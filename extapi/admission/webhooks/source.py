"""The webhooks that a cluster has configured, as they are now, and the connections to them.

Source: ``k8s.io/apiserver/pkg/admission/configuration``, ``apiserver/pkg/util/webhook/client.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from extapi.admission.matching.index import RuleIndex
from extapi.admission.webhooks.configuration import Webhook, webhooks_of
from extapi.api.types import Obj
from extapi.client.credentials import CredentialsError
from extapi.client.failurelog import FailureLog
from extapi.client.informer import Informer
from extapi.client.kube import Client, ResourceName
from extapi.client.services import Resolve
from extapi.client.webhookcall import WebhookCaller
from extapi.client.webhookreply import WebhookError
from extapi.client.webhookusers import WebhookUsers
from extapi.clock import Clock

GROUP = "admissionregistration.k8s.io"


class WebhookSource:
    """The webhooks of one kind of configurations. Call :meth:`start`, and :meth:`stop` at the end.

    Args:
        kind: The kind of the configurations.
        client: Reads them.
        callers: Calls the webhooks.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1).
        changed: Called when any of them has changed.
    """

    def __init__(
        self,
        kind: str,
        client: Client,
        callers: WebhookCallers,
        *,
        clock: Clock,
        jitter: Callable[[], float],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.kind = kind
        self.shown = f"{kind}s"
        """The plural of the kind, for messages."""
        self.callers = callers
        self._clock = clock
        self._told = changed
        self._informer = Informer(
            client,
            ResourceName(GROUP, "v1", f"{kind.lower()}s"),
            clock=clock,
            jitter=jitter,
            on_change=self._changed,
            optional=True,
        )
        self._webhooks: dict[str, list[Webhook]] = {}
        """By configuration; those that have changed are missing."""
        self.made: RuleIndex[Webhook] | None = None
        """The index of the webhooks; None: :attr:`index` makes it again."""
        self.idle = False
        """Whether it is known that there are no webhooks."""
        self._logs: dict[str, FailureLog] = {}

    def start(self) -> None:
        """Start to follow the configurations."""
        self._informer.start()

    def stop(self) -> None:
        """Stop for good."""
        self._informer.stop()

    @property
    def synced(self) -> bool:
        """Whether the configurations are known."""
        return self._informer.synced

    def problem(self) -> str | None:
        """None, or why they may have changed without being known."""
        return self._informer.problem()

    async def wait_synced(self) -> None:
        """Wait until they are; may be cancelled."""
        await self._informer.wait_synced()

    @property
    def index(self) -> RuleIndex[Webhook] | None:
        """The webhooks, in the order in which they are called; None: they are not known yet."""
        found = self.made
        return self._made() if found is None and self._informer.synced else found

    def log(self, webhook: Webhook) -> FailureLog:
        """Tells an operator that a webhook fails."""
        found = self._logs.get(webhook.uid)
        if found is None:
            config = webhook.config
            service = config.get("service") or {}
            where = config.get("url") or f"Service {service.get('namespace')}/{service.get('name')}"
            what = f"{self.kind} {webhook.configuration}: webhook {webhook.name}"
            found = self._logs[webhook.uid] = FailureLog(what, str(where), self._clock, "admission webhook")
        return found

    def _changed(self, _: str, obj: Obj) -> None:
        self._webhooks.pop(str(obj["metadata"]["name"]), None)
        self.made, self.idle = None, False
        self._told()

    def _made(self) -> RuleIndex[Webhook]:
        self._webhooks = webhooks_of(self._informer.items(), self._webhooks)
        webhooks = [webhook for each in self._webhooks.values() for webhook in each]
        index = self.made = RuleIndex(webhooks)
        self.idle = not webhooks
        uids = {each.uid for each in webhooks}
        self._logs = {uid: log for uid, log in self._logs.items() if uid in uids}
        self.callers.keep(self.kind, {each.address for each in webhooks})
        return index


class WebhookCallers:
    """Calls the webhooks of several sources: one pool of connections for each address. Call :meth:`close` at the end.

    Args:
        resolve: Finds the Services that configurations name.
        reactor: Provides IReactorTCP, IReactorTime and host name resolution.
        users: Who to be to the webhooks.
    """

    def __init__(self, resolve: Resolve, reactor: Any, users: WebhookUsers | None = None) -> None:
        self._resolve = resolve
        self._reactor = reactor
        self._users = WebhookUsers(clock=reactor) if users is None else users
        self._callers: dict[bytes, WebhookCaller] = {}
        self._used: dict[str, set[bytes]] = {}

    def of(self, webhook: Webhook) -> WebhookCaller:
        """What calls a webhook.

        Raises:
            WebhookError: Its ``clientConfig`` says not where it is, or who is to call it cannot be read.
        """
        found = self._callers.get(webhook.address)
        if found is None:
            try:
                found = WebhookCaller(webhook.config, self._resolve, self._reactor, users=self._users)
                found.user.check()
            except CredentialsError as error:
                raise WebhookError(f"could not get REST client: {error}", 500) from None
            except (KeyError, TypeError, ValueError) as error:
                why = "webhook configuration must have either service or URL" if isinstance(error, KeyError) else error
                raise WebhookError(f"could not get REST client: {why}", 500) from None
            self._callers[webhook.address] = found
        return found

    def keep(self, kind: str, addresses: set[bytes]) -> None:
        """Let go what no source has any more; calls that still run go on.

        Args:
            kind: The source that tells what it has.
            addresses: The addresses of its webhooks.
        """
        self._used[kind] = addresses
        used = set().union(*self._used.values())
        for address in [each for each in self._callers if each not in used]:
            self._callers.pop(address).retire()

    def close(self) -> None:
        """End all connections."""
        for caller in self._callers.values():
            caller.close()
        self._callers.clear()
