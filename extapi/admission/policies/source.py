"""The policies of one kind that a cluster has, as they are now, with their bindings.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from extapi.admission.matching.index import RuleIndex
from extapi.admission.policies.definition import Binding, Hook, PolicyDefinition, hooks, is_freeze
from extapi.admission.policies.params import Params
from extapi.api.types import Obj
from extapi.client.informer import Informer
from extapi.client.kube import Client, ResourceName
from extapi.clock import Clock, stop_timer

GROUP: Final = "admissionregistration.k8s.io"

E = TypeVar("E")


def policy_resource(kind: str) -> ResourceName:
    """The resource of a kind of policies."""
    return ResourceName(GROUP, "v1", f"{kind.lower().removesuffix('y')}ies")


def binding_resource(kind: str) -> ResourceName:
    """The resource of the bindings of a kind of policies."""
    return ResourceName(GROUP, "v1", f"{kind.lower()}bindings")


class PolicySource(Generic[E]):
    """Follows policies and bindings. Call :meth:`start`, and :meth:`stop` at the end.

    Args:
        kind: ``ValidatingAdmissionPolicy`` or ``MutatingAdmissionPolicy``.
        client: Reads them.
        params: Follows the params of those that are bound. May be shared with the source of another kind.
        compile_: Makes what evaluates a policy of its name and spec. It is called when the first write matches.
        clock: The reactor's clock.
        jitter: Returns random numbers in [0, 1).
        changed: Called when any of them has changed.
    """

    def __init__(
        self,
        kind: str,
        client: Client,
        params: Params,
        compile_: Callable[[str, Mapping[str, Any]], E],
        *,
        clock: Clock,
        jitter: Callable[[], float],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.kind = kind
        self.shown = f"{kind.removesuffix('y')}ies and their bindings"
        """What it follows, for messages."""
        self.params = params
        self._compile = compile_
        self._clock = clock
        self._told = changed
        self._policies = Informer(
            client, policy_resource(kind), clock=clock, jitter=jitter, on_change=self._changed, optional=True
        )
        self._bindings = Informer(
            client, binding_resource(kind), clock=clock, jitter=jitter, on_change=self._changed, optional=True
        )
        self._known: dict[str, PolicyDefinition[E]] = {}
        self._bound: dict[str, Binding] = {}
        self.made: RuleIndex[Hook[E]] | None = None
        """The index of the policies that are bound; None: :attr:`index` makes it again."""
        self.idle = False
        """Whether it is known that there are none."""
        self._due: Any = None
        """The call that will make the index, if no write does so before."""

    def start(self) -> None:
        """Start to follow them."""
        self._policies.start()
        self._bindings.start()

    def stop(self) -> None:
        """Stop for good."""
        self._policies.stop()
        self._bindings.stop()
        stop_timer(self._due)

    @property
    def synced(self) -> bool:
        """Whether policies and bindings are known."""
        return self._policies.synced and self._bindings.synced

    def problem(self) -> str | None:
        """None, or why they may have changed without being known."""
        return self._policies.problem() or self._bindings.problem()

    async def wait_synced(self) -> None:
        """Wait until they are; may be cancelled."""
        await self._policies.wait_synced()
        await self._bindings.wait_synced()

    @property
    def index(self) -> RuleIndex[Hook[E]] | None:
        """The policies that are bound, by name; None: they are not known yet."""
        found = self.made
        return self._made() if found is None and self.synced else found

    def _changed(self, _: str, __: Obj) -> None:
        self.made, self.idle = None, False
        self._told()
        if self._due is None:  # params are followed from now on, not from the first write on
            self._due = self._clock.callLater(0, self._refresh)

    def _refresh(self) -> None:
        self._due = None
        if self.made is None and self.synced:
            self._made()

    def _made(self) -> RuleIndex[Hook[E]]:
        known: dict[str, PolicyDefinition[E]] = {}
        for policy in self._policies.items():
            if is_freeze(policy):
                continue
            name = str(policy["metadata"]["name"])
            before = self._known.get(name)
            known[name] = (
                before if before is not None and before.source is policy else PolicyDefinition(policy, self._compile)
            )
        self._known = known
        bound: dict[str, Binding] = {}
        for each in self._bindings.items():
            name = str(each["metadata"]["name"])
            binding = self._bound.get(name)
            bound[name] = binding if binding is not None and binding.source is each else Binding(each)
        self._bound = bound
        found = hooks(known.values(), bound.values())
        index = self.made = RuleIndex(found)
        self.idle = not found
        kinds = {each.definition.param_kind for each in found}
        self.params.use(self.kind, {kind for kind in kinds if kind is not None})
        return index
