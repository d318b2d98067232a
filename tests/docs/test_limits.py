"""The page of limits against the code: each bound that stands there is a constant here, written out as the page writes it."""

from __future__ import annotations

import re
import sys

import pytest

from extapi import fielderrors
from extapi.api import requestselectors
from extapi.authentication import certificates, tokenreview
from extapi.authorization import impersonation, subjectaccessreview
from extapi.client import fairqueue, limited, origin, recorder
from extapi.codec import jsonpointer, patches, protobuf, strictjson, strictyaml, warnings, wireformat
from extapi.controlplane.access import rules, tokenreviews
from extapi.controlplane.aggregator import proxy, remote
from extapi.controlplane.kinds import data
from extapi.listener import acceptor, body, parsing, requestinfo, target, tls
from extapi.listener.service import Limits
from extapi.registry import writing
from extapi.server import inflight, logs, reauthorization, serving, watchdog
from extapi.server.options import FLAGS
from extapi.storage import compaction, group
from extapi.verbs import decoding
from extapi.verbs.watch import MIN_SECONDS
from extapi.watch.history import HistorySettings
from extapi.watch.watcher import WatchLimits
from tests.docs.samples import ROOT

PAGE = ROOT / "docs" / "reference" / "limits.md"


def size(number: int) -> str:
    """Bytes in the largest unit that they are a multiple of."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if number % factor == 0:
            return f"{number // factor} {unit}"
    raise AssertionError(number)


def count(number: int) -> str:
    return f"{number:,}"


def seconds(number: float) -> str:
    return f"{number:g} s"


def minutes(number: float) -> str:
    return f"{number / 60:g} minutes"


LIMITS, HISTORY = Limits(), HistorySettings()
BOUNDS = {
    "request line and headers": f"{size(parsing.HEAD)}, {count(parsing.FIELDS)} lines",
    "body": size(decoding.MAX_BODY),
    "nesting of a body, and of what patches make of an object": f"{strictjson.MAX_DEPTH} levels",
    "a number: its magnitude": f"what a float64 holds, {sys.float_info.max:.1e}".replace("e+", "e"),
    "an object in the store": size(writing.MAX_OBJECT),
    "YAML: nodes, bytes that aliases add": f"{count(strictyaml.MAX_NODES)}; {count(strictyaml.MAX_ALIASED)}",
    "YAML: `%TAG` directives": count(strictyaml.MAX_TAG_DIRECTIVES),
    "operations of a JSON patch, bytes that `copy` adds": f"{count(patches.MAX_OPERATIONS)}; {size(jsonpointer.MAX_COPIED)}",
    "places by which a JSON patch moves items of lists": count(jsonpointer.MAX_MOVED),
    "strict decoding errors reported of JSON": count(strictjson.MAX_DUPLICATES),
    "unknown fields reported of a body": count(fielderrors.MOST_ERRORS),
    "errors looked for in one list or map": count(fielderrors.MOST_ERRORS),
    "errors reported in an answer": f"{size(fielderrors.MOST_TEXT)}, and the one that goes beyond it",
    "path in an error": f"{count(fielderrors.LONGEST_PATH)} characters",
    "field selector that can name one object for authorization": f"{count(requestinfo.PINNING_LENGTH)} characters",
    "query parameters": count(target.PAIRS),
    "label selector, field selector": f"{size(requestselectors.LENGTH)}, "
    f"{count(requestselectors.TERMS)} requirements and values",
    "groups and extra values to impersonate, unless `system:masters` does": f"{impersonation.ITEMS}; "
    f"{size(impersonation.LENGTH)} with names and keys",
    "bearer token": size(tokenreview.TOKEN_LIMIT),
    "certificates of a client": f"{size(100 * 1024)}; RSA keys of {count(tls.KEY_BITS)} bits",  # OpenSSL's SSL_MAX_CERT_LIST_DEFAULT
    "intermediate certificates of a client": count(certificates.MAX_INTERMEDIATES),
    "open connections": f"{count(LIMITS.connections)}, and the hard limit of open files (`ulimit -Hn`)",
    "TLS handshake": seconds(LIMITS.handshake),
    "headers of a request": seconds(LIMITS.head),
    "body that the server waits for": f"{seconds(body.GRACE)}, and a second more for each {size(body.RATE)[2:]} that came",
    "bodies that are arriving, together": size(LIMITS.bodies),
    "idle connection": seconds(LIMITS.idle),
    "request that is no watch": "`--request-timeout`",
    "reads and writes in work": "`--max-requests-inflight`, `--max-mutating-requests-inflight`; a quarter of each for "
    "unauthenticated requests. `/livez`, `/readyz`, `/healthz` and `system:masters` are not counted, nor is a write whose "
    "body has not arrived",
    "TokenReviews, and as many SubjectAccessReviews": f"{fairqueue.QPS:g} per second, {fairqueue.BURST:g} at once; "
    f"{fairqueue.RUNNING} at a time",
    "reviews for one address (tokens) or one user (access)": f"{fairqueue.RUNNING // fairqueue.SHARE} at a time; "
    f"{fairqueue.WAITING} wait, up to {seconds(fairqueue.PATIENCE)}",
    "tokens that one address presents in vain": f"{tokenreview.FAILURES}, then {tokenreview.FAILURES_PER_SECOND:g} per second; "
    f"of {count(tokenreview.ADDRESSES)} addresses",
    "distinct questions to which the cluster tells one user no": f"{subjectaccessreview.REFUSALS}, then "
    f"{subjectaccessreview.REFUSALS_PER_SECOND:g} per second; of {count(subjectaccessreview.USERS)} users",
    "requests of an author's code to the cluster": f"{limited.QPS:g} per second, {limited.BURST:g} at once; "
    f"{limited.RUNNING} whose answer has not begun; {count(limited.WAITING)} wait, up to {seconds(limited.PATIENCE)}",
    "events of a recorder that wait to be written": count(recorder.QUEUED),
    "new events about one object": f"{recorder.SPAM_BURST:g} at once, then 1 per {minutes(1 / recorder.SPAM_RATE)}; of "
    f"{count(recorder.KNOWN)} objects",
    "writes waiting for the disk": f"{count(group.WAITING)}; {size(group.WAITING_BYTES)}",
    "watch without `timeoutSeconds`": f"{MIN_SECONDS / 60:g} to {minutes(2 * MIN_SECONDS)}",
    "reviews that open watches wait for": f"{reauthorization.ASKING} at a time",
    "watch while nobody answers whether it may go on": minutes(reauthorization.UNANSWERED),
    "bytes waiting for a watcher": size(WatchLimits().pending),
    "events kept to resume from": f"{seconds(HISTORY.seconds)} or {HISTORY.fewest} events, "
    f"at most {count(HISTORY.most)} or {size(HISTORY.size)}",
    "history of the store": f"{compaction.INTERVAL / 60:g} to {minutes(2 * compaction.INTERVAL)}",
    "answers of TokenReviews kept": f"{count(tokenreview.CACHED)}, for `--authentication-token-webhook-cache-ttl`",
    "answers of SubjectAccessReviews kept": f"{count(subjectaccessreview.CACHED)}, "
    f"{size(subjectaccessreview.CACHED_TOTAL)} of questions, for `--authorization-webhook-cache-*-ttl`",
    "Warning headers of an answer": f"{count(warnings._BUDGET)} characters",
    "a text of a client in a line of the log": f"{count(logs.LONGEST)} characters",
    "at shutdown: a connection on which nothing comes": seconds(LIMITS.farewell),
    "at shutdown: TCP handshakes that have begun": seconds(acceptor.HALF_OPEN),
    "drain at shutdown": seconds(serving.DRAIN),
    "at shutdown: code that never lets the reactor go on": seconds(watchdog.PATIENCE),
    "protobuf: nesting, fields": f"{protobuf.MAX_DEPTH} levels; {count(wireformat.MAX_FIELDS)}",
    "values of a ConfigMap or Secret together": size(data.LARGEST),
    "body of a request that is passed on": size(proxy.BODY),
    "discovery of an extension server, by clients and by itself": seconds(proxy.DISCOVERY),
    "a document that it reads of an extension server": size(proxy.DOCUMENT),
    "connections to one extension server": count(origin.CONNECTIONS),
    "an upgraded connection without a byte": f"{proxy.IDLE / 3600:g} h",
    "life of a token": f"{minutes(tokenreviews.SHORTEST)} to 2^32 s, {tokenreviews.LIFETIME // 3600} h if nothing is asked",
    "rights in a role that somebody grants, in parts of one verb, resource and name": f"{count(rules.PARTS)}; "
    f"{count(rules.COMPARISONS)} comparisons with their own",
}
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if re.match(r"\|(?! what \||-)", line)
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_page_says_what_the_code_does(row: list[str]) -> None:
    what, bound, beyond = row
    assert what in BOUNDS, "add to BOUNDS where the code has it"
    assert bound == BOUNDS[what]
    assert beyond


def test_no_bound_was_forgotten() -> None:
    assert [row[0] for row in ROWS] == list(BOUNDS)


def test_bounds_that_stand_in_two_places_are_equal() -> None:
    assert tokenreviews.LONGEST == 2**32
    assert remote.SECONDS == proxy.DISCOVERY
    assert warnings._CUT == 256
    assert inflight.UNAUTHENTICATED_SHARE == 4
    flags = {flag.name for flag in FLAGS}
    named = set(re.findall(r"`--([a-z-]+)`", PAGE.read_text(encoding="utf-8")))
    assert named <= flags
