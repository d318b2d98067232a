"""The map: which path leads to which of an author's functions, and how HTTP carries a review.

``/convert/VERSION/NAME``, ``/admit/VERSION/NAME`` and ``/validate/VERSION/NAME``, as in chapter 9 of "Programming
Kubernetes": VERSION is that of the review's API, v1 or v1beta1, not of the kind; each path answers both, in the version in
which it was asked. NAME is the kind's singular, or SINGULAR.GROUP, which is the only name where two groups have the same one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from twisted.logger import Logger

from extapi.admission.chain import AdmissionChain
from extapi.clock import Clock
from extapi.codec.contenttype import media_type
from extapi.errors import ApiError
from extapi.http.request import Request
from extapi.http.response import NOSNIFF, Response, http_error
from extapi.registry.ruling import RuleRunner
from extapi.registry.served import ServedKind
from extapi.webhooks.admitting import AdmittedKind
from extapi.webhooks.bounds import ADMISSION, CONVERSION, Bounds
from extapi.webhooks.callers import Callers
from extapi.webhooks.converting import ConvertingWebhook
from extapi.webhooks.mutating import MutatingWebhook
from extapi.webhooks.reviewmetrics import ADMIT, CONVERT, VALIDATE, Count, ReviewMetrics, verdict_of
from extapi.webhooks.reviews.admission import AdmissionRequest, AdmissionVerdict, answered, read_admission
from extapi.webhooks.reviews.reading import BadReview
from extapi.webhooks.validating import ValidatingWebhook

_log = Logger()

VERSIONS: Final = ("v1", "v1beta1")
"""Those of reviews."""
JSON: Final = "application/json"

Judge = Callable[[AdmissionRequest], Awaitable[AdmissionVerdict]]
Answer = Callable[[bytes], Awaitable[bytes]]


class ReviewPath(NamedTuple):
    """One path."""

    answer: Answer
    limit: int
    """The most bytes of a review."""
    admits: bool
    """Whether plugins are asked, which have to be ready, and callers have to prove who they are."""


class ReviewPaths:
    """Answers reviews (:data:`extapi.http.response.Handler`).

    Args:
        kinds: The kinds.
        chain: Gives the plugins that are asked.
        rules: Runs rules.
        clock: The time.
        unready: Why plugins cannot be asked yet; empty once they can. Conversion needs none: the objects that plugins wait
            for may have to be converted here.
        callers: Judges who asks; None: anybody may.
        metrics: Counts verdicts.
    """

    def __init__(
        self,
        kinds: Sequence[ServedKind],
        chain: Callable[[], AdmissionChain],
        rules: RuleRunner,
        clock: Clock,
        unready: Callable[[], str],
        callers: Callers | None = None,
        *,
        metrics: ReviewMetrics | None = None,
    ) -> None:
        self._unready = unready
        self._callers = callers
        self._bounds = Bounds(clock)
        self._paths: dict[str, ReviewPath] = {}
        for name, kind in path_names(kinds).items():
            admitted, count = AdmittedKind(kind, chain, rules), partial((metrics or ReviewMetrics()).counting, kind)
            convert = ConvertingWebhook(kind, clock, count(CONVERT)).answer
            admit = _judged(MutatingWebhook(admitted).verdict, count(ADMIT))
            validate = _judged(ValidatingWebhook(admitted).verdict, count(VALIDATE))
            for version in VERSIONS:
                self._paths |= {
                    f"/{CONVERT}/{version}/{name}": ReviewPath(convert, CONVERSION, admits=False),
                    f"/{ADMIT}/{version}/{name}": ReviewPath(admit, ADMISSION, admits=True),
                    f"/{VALIDATE}/{version}/{name}": ReviewPath(validate, ADMISSION, admits=True),
                }

    @property
    def paths(self) -> Sequence[str]:
        """All paths."""
        return tuple(self._paths)

    async def __call__(self, request: Request) -> Response:
        """The answer to a review, or in plain text why there is none."""
        endpoint = self._paths.get(request.info.path)
        if endpoint is None:
            return http_error(404, "404 page not found")
        if request.method != "POST":
            return http_error(405, "a review is sent by POST", ("Allow", "POST"))
        if media_type(request.header("content-type")) != JSON:
            return http_error(400, f"the Content-Type of a review is {JSON}")
        if endpoint.admits and self._callers is not None and (why := await self._callers.refusal(request)):
            return http_error(401, f"Unauthorized: {why}")
        if endpoint.admits and (why := self._unready()):
            return http_error(503, f"not ready: {why}", ("Retry-After", "1"))
        try:
            answer = await self._bounds.run(request, endpoint.limit, endpoint.answer)
        except BadReview as error:
            # kube-apiserver tells its users and its log no more than that the webhook refused.
            _log.warn("{path} got no review that it can answer: {why}", path=request.info.path, why=str(error))
            return http_error(400, str(error))
        except ApiError as error:
            headers = [("Retry-After", str(error.retry_after))] if error.retry_after else []
            return http_error(error.code, error.message, *headers)
        return Response(200, [("Content-Type", JSON), NOSNIFF], answer)


def path_names(kinds: Sequence[ServedKind]) -> Mapping[str, ServedKind]:
    """The kinds by the names that they have in paths: the singular where it is unique, and always singular and group."""
    count = Counter(kind.kind.singular for kind in kinds)
    names = {f"{kind.kind.singular}.{kind.group}": kind for kind in kinds}
    return names | {kind.kind.singular: kind for kind in kinds if count[kind.kind.singular] == 1}


def _judged(judge: Judge, count: Count) -> Answer:
    async def answer(body: bytes) -> bytes:
        request = read_admission(body)
        verdict = await judge(request)
        count(*verdict_of(request, verdict))
        return answered(request, verdict)

    return answer
