"""MutatingAdmissionWebhook: webhooks that may change an object, one after the other (behaviour I14).

Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/mutating``.
"""

from __future__ import annotations

from typing import Final

from extapi.admission.base import Review
from extapi.admission.current import CurrentObjects
from extapi.admission.reinvocation import ReinvocationContext
from extapi.admission.rulesources import RuleSources
from extapi.admission.webhooks.asking import Asking, Invocation
from extapi.admission.webhooks.patching import operations, patched
from extapi.api.jsonvalue import json_equal
from extapi.client.webhookreply import WebhookError
from extapi.codec import strictjson
from extapi.errors import InternalError, go_quote

NAME: Final = "MutatingAdmissionWebhook"
_MUTATION: Final = "mutation.webhook.admission.k8s.io/"


class MutatingWebhooks:
    """The plugin. It is a mutator (:class:`extapi.admission.base.Mutator`)."""

    plugin_name = NAME
    compares_output = True
    rules: RuleSources | None = None
    """All configurations of the cluster; the chain asks them before it asks the plugin."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def handles(self, review: Review) -> bool:
        """Whether a webhook may have to be asked."""
        return self._asking.may_match(review)

    async def mutate(self, review: Review) -> None:
        """Ask all webhooks about a write, and change its object as they say.

        Raises:
            ApiError: A webhook refuses the write, or cannot be asked.
        """
        matches = await self._asking.matches(review)
        if not matches:
            return
        context = review.reinvocation or ReinvocationContext()
        calls: _Calls = context.values.setdefault(NAME, _Calls())
        if context.again and context.outputs.get(NAME) != review.obj:
            calls.require()
        current = CurrentObjects(review, "an admission webhook")
        name = "" if current.unnamed else review.requested_name()
        for match in matches:
            invocation = await self._asking.invocation(match, review, current, name)
            if invocation is None or (context.again and invocation.webhook.uid not in calls.due):
                continue
            if await self._called(invocation, review, current, calls, again=context.again):
                context.wanted = True
        await current.finish()

    async def _called(
        self, invocation: Invocation, review: Review, current: CurrentObjects, calls: _Calls, *, again: bool
    ) -> bool:
        """Whether a webhook that is called changes the object.

        Raises:
            ApiError: It refuses the write, or cannot be called.
        """
        webhook = invocation.webhook
        key = f"{_MUTATION}round_{int(again)}_index_{invocation.place}"
        changed = False
        try:
            changed = await self._asking.counted(invocation, review, self._changed(invocation, review, current))
        except WebhookError as error:
            self._asking.failed(webhook, error, review, f"failed-open.{key}")
        finally:
            shown = {"configuration": webhook.configuration, "webhook": webhook.name, "mutated": changed}
            review.annotate(key, strictjson.encode(shown).decode())
        if changed:
            calls.require()
        if webhook.reinvoked:
            calls.invoked.add(webhook.uid)
        return changed

    async def _changed(self, invocation: Invocation, review: Review, current: CurrentObjects) -> bool:
        """Whether a webhook changes the object.

        Raises:
            WebhookError: It could not be called, or has not answered as it should.
            ApiError: It refuses the write, or its patch does not apply.
        """
        said = await self._asking.call(invocation, review, mutating=True)
        patch = operations(said.patch) if said.patch else []
        if not patch:
            return False
        webhook, before = invocation.webhook, invocation.objects.obj
        if before is None:
            raise InternalError.because(
                f"admission webhook {go_quote(webhook.name)} attempted to modify the object, "
                "which is not supported for this operation"
            )
        if said.patch_type != "JSONPatch":
            raise WebhookError(f"unsupported patch type {go_quote(said.patch_type)}", 400)
        after = patched(before, patch)
        changed = not json_equal(before, after)
        if changed:
            current.replace(after)
        return changed


class _Calls:
    """Which webhooks have been called for one write, and which have to be called again.

    Source: ``k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/reinvocationcontext.go``.
    """

    def __init__(self) -> None:
        self.invoked: set[str] = set()
        """Those that may be called again, and have seen the object as it is now."""
        self.due: set[str] = set()

    def require(self) -> None:
        """The object has changed: whoever has seen it has to see it again."""
        self.due |= self.invoked
        self.invoked = set()
