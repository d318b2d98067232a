"""What plugins for policies do alike with a write: find the policies, see what they are about, show them the objects.

Source: ``k8s.io/apiserver/pkg/admission/plugin/policy`` generic/plugin.go, generic/policy_matcher.go, matching/matching.go.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from extapi.admission.base import Review
from extapi.admission.expressions.environment import namespace_object
from extapi.admission.matching.rules import Subject
from extapi.admission.namespaces import NamespaceLabels, synced_in_time
from extapi.admission.policies.definition import Binding, Hook
from extapi.admission.policies.resources import MatchResources, is_exempt
from extapi.admission.policies.source import PolicySource
from extapi.admission.rulesources import key_of, matches_of
from extapi.api.types import Obj
from extapi.clock import Clock
from extapi.errors import ApiError, Forbidden

E = TypeVar("E")


class PolicyMatcher(Generic[E]):
    """Matches the policies of one source.

    Args:
        source: The policies.
        namespaces: Knows namespaces.
        clock: The reactor's clock.
    """

    def __init__(self, source: PolicySource[E], namespaces: NamespaceLabels, clock: Clock) -> None:
        self._source = source
        self._namespaces = namespaces
        self._clock = clock

    def may_match(self, review: Review) -> bool:
        """Whether a policy may be about the write. Cheap: most writes have none."""
        return not self._source.idle and matches_of(self._source, review, key_of(review)) != ()

    async def candidates(self, review: Review) -> list[Hook[E]]:
        """The bound policies that may be about the write, once all is known that is needed to tell.

        Raises:
            Forbidden: It is not known in time.
        """
        if is_exempt(review.group, review.resource):
            return []
        both = (self._source, self._namespaces.cache)
        if not all([each.synced or await synced_in_time(each, self._clock) for each in both]):
            raise Forbidden.on(review.resource, review.group, review.display_name(), "not yet ready to handle request")
        return [each.found for each in matches_of(self._source, review, key_of(review)) or ()]

    async def version(self, resources: MatchResources, review: Review, about: Subject, name: str) -> str | None:
        """The version in which a policy is shown the objects of a write; None: it is not about the write.

        Args:
            resources: What the policy, or the binding, is about.
            review: The write.
            about: The same for rules, see :func:`extapi.admission.shown.subject`.
            name: The name of the object; empty if it has none yet.

        Raises:
            ApiError: The rules match, but a selector has no answer.
        """
        wrong: ApiError | None = None
        try:
            selected = await self._namespaces.selects(resources.namespace_selector, review)
        except ApiError as error:
            selected, wrong = True, error
        if not selected:
            return None
        try:
            selected = resources.object_selector.matches_either(review.obj, review.old)
        except ApiError as error:
            wrong = wrong or error
        if not selected:
            return None
        found = resources.version(about, name)
        if found is not None and wrong is not None:
            raise wrong
        return found

    async def binds(self, binding: Binding, review: Review, about: Subject, name: str) -> bool:
        """Whether a binding is about a write that its policy is about. See :meth:`version`."""
        return binding.resources is None or await self.version(binding.resources, review, about, name) is not None

    async def namespace(self, review: Review) -> Obj | None:
        """The namespace of a write, as expressions see it; None: it is in none.

        Raises:
            NotFound: It does not exist.
            InternalError: It could not be read.
        """
        if not review.namespace or (review.group, review.resource) == ("", "namespaces"):
            return None
        return namespace_object(await self._namespaces.namespace(review.namespace))
