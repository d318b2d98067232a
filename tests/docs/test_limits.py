"""The page of limits against the code: each bound that stands there is a constant here, written out as the page writes it."""

from __future__ import annotations

import re
import sys

import pytest

from extapi import fielderrors
from extapi.admission import audit
from extapi.admission.expressions import composition, conditions
from extapi.admission.mutations import made
from extapi.admission.policies import params, servedtypes, typechecking, validations
from extapi.api import requestselectors
from extapi.authentication import bundle, tokenreview
from extapi.authorization import impersonation, subjectaccessreview
from extapi.client import (
    backoff,
    credentials,
    eventsink,
    execplugin,
    fairqueue,
    guardedprocess,
    hearing,
    kube,
    limited,
    recorder,
    renewal,
    tcp,
    transport,
    tunnelqueue,
    upstream,
    watching,
    webhookcall,
    workqueue,
)
from extapi.client.transport import ClientRequest
from extapi.codec import jsonpatch, patches, strictjson, warnings, yamlnodes
from extapi.controlplane.access import rules, tokenreviews
from extapi.controlplane.aggregator import proxy, remote
from extapi.controlplane.builtin import protobuf, wireformat
from extapi.controlplane.controllers import policytypes
from extapi.controlplane.kinds import admissionvalidation, apiextensions, data, webhookvalidation
from extapi.controlplane.policies import rules as policyrules
from extapi.crd import files, kinds, manifests as definitions, webhook
from extapi.crd.validation import schemas
from extapi.http import messages
from extapi.listener import acceptor, body, parsing, request, requestinfo, tls
from extapi.listener.state import Limits
from extapi.managedfields import updater
from extapi.registry import authorwatch, feed, feedlog, ruling, store
from extapi.registry.watching import MIN_SECONDS
from extapi.schema import structural
from extapi.schema.cel import checks, expression, failures, validator
from extapi.schema.cel.library import amounts, regular_expressions
from extapi.schema.cel.syntax import copies, depth, parser
from extapi.schema.cel.values import sizes
from extapi.server import inflight, logs, reauthorization, replicas, serving, watchdog
from extapi.server.options import CONNECTION_REQUESTS, FLAGS
from extapi.storage import compaction, group, tail
from extapi.storage.etcd import call, endpoints, times
from extapi.storage.hub import backend as hubbackend, channel as hubchannel, messages as hubmessages
from extapi.verbs import decoding, sessions
from extapi.watch.cachewatcher import WatchLimits
from extapi.watch.conversioncalls import ConversionLimits
from extapi.watch.history import HistorySettings
from extapi.webhooks import bounds as review_bounds, patch
from extapi.workers import scraping, supervisor
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
CONVERSION = ConversionLimits()
BOUNDS = {
    "request line and headers": f"{size(parsing.HEAD)}, {count(parsing.FIELDS)} lines",
    "body": size(decoding.MAX_BODY),
    "nesting of a body, with the merges of YAML, and of an object after a patch": f"{strictjson.MAX_DEPTH} levels",
    "nesting of managed fields": (
        f"{count(strictjson.MAX_DEPTH)} levels, which an object with {strictjson.MAX_DEPTH - 5} levels of owned fields has"
    ),
    "magnitude of a number": f"the largest float64, {sys.float_info.max:.1e}".replace("e+", "e"),
    "object in the store": size(store.MAX_OBJECT),
    "YAML: nodes; bytes added by aliases": f"{count(yamlnodes.MAX_NODES)}; {count(yamlnodes.MAX_ALIASED)}",
    "YAML: `%TAG` directives": count(yamlnodes.MAX_TAG_DIRECTIVES),
    "JSON patch: operations; bytes added by `copy`": f"{count(patches.MAX_OPERATIONS)}; {size(jsonpatch.MAX_COPIED)}",
    "JSON patch: list items that it shifts, in total": count(jsonpatch.MAX_MOVED),
    "objects and items of lists with owned fields in them, in a configuration that is applied": count(
        updater.MOST_SETS
    ),
    "strict decoding errors reported for JSON": count(strictjson.MAX_DUPLICATES),
    "unknown fields reported for a body": count(fielderrors.MOST_ERRORS),
    "errors found in one list or map": count(fielderrors.MOST_ERRORS),
    "errors reported in a response": f"{size(fielderrors.MOST_TEXT)}, and the error that exceeds it",
    "path in an error": f"{count(fielderrors.LONGEST_PATH)} characters",
    "[rules](cel.md): one evaluation; all of an object": f"a cost of {count(expression.CALL_LIMIT)}; "
    f"{count(validator.OBJECT_BUDGET)}",
    "rules, estimated at start: one; all of a schema": f"a cost of {count(checks.RULE_LIMIT)}; {count(checks.SCHEMA_LIMIT)}",
    "an AdmissionReview for `extapi webhooks`; a ConversionReview": (
        f"{size(review_bounds.ADMISSION)}; {size(review_bounds.CONVERSION)}"
    ),
    "reviews that are being answered: number; bytes together": (
        f"{count(review_bounds.REVIEWS)}; {size(review_bounds.TOGETHER)}"
    ),
    "operations of a patch that answers a review": count(patch.MAX_OPERATIONS),
    "definitions in a file of `extapi crd check` or `--crd`: bytes; objects; files of a folder": (
        f"{size(files.LARGEST)}; {count(definitions.MOST_DOCUMENTS)}; {count(files.MOST_FILES)}"
    ),
    "versions of a definition": count(kinds.MOST_VERSIONS),
    "schema of a definition: nesting; rules": f"{structural.MAX_DEPTH} schemas; {count(schemas.MOST_RULES)}",
    "rules in the reactor's thread; threads for what costs more": f"a cost of {count(ruling.INLINE)} and "
    f"{ruling.INLINE_TIME * 1000:g} ms; {ruling.AT_ONCE}",
    "values in a definition that the control plane judges in the reactor's thread": count(apiextensions.MOST_INLINE),
    "an expression: characters; nodes that macros copy; nesting": f"{count(parser.SIZE_LIMIT)}; "
    f"{count(copies.COPIES_LIMIT)}; {depth.RECURSION_LIMIT}",
    "a pattern in a rule; a string that a function makes; digits of a quantity": (
        f"{regular_expressions.MEMORY_LIMIT >> 20} MB in RE2; {count(sizes.LONGEST_TEXT)} characters; {count(amounts.MOST_DIGITS)}"
    ),
    "message that a rule makes": size(failures.LONGEST_MESSAGE),
    "field selector that can name one object for authorization": f"{count(requestinfo.PINNING_LENGTH)} characters",
    "query parameters": count(request.PAIRS),
    "label selector, field selector": f"{size(requestselectors.LENGTH)}, "
    f"{count(requestselectors.TERMS)} requirements and values",
    "groups and extra values to impersonate, unless the user is in `system:masters`": f"{impersonation.ITEMS}; "
    f"{size(impersonation.LENGTH)} with names and keys",
    "bearer token": size(tokenreview.TOKEN_LIMIT),
    "certificates of a client": f"{size(100 * 1024)}; RSA keys of {count(tls.KEY_BITS)} bits",  # OpenSSL's SSL_MAX_CERT_LIST_DEFAULT
    "intermediate certificates of a client": count(bundle.MAX_INTERMEDIATES),
    "open connections": f"{count(LIMITS.connections)}, and the hard limit of open files (`ulimit -Hn`)",
    "TLS handshake": seconds(LIMITS.handshake),
    "headers of a request": seconds(LIMITS.head),
    "wait for a body": f"{seconds(body.GRACE)}, and one second more per {size(body.RATE)[2:]} received",
    "bodies being received, in total": size(LIMITS.bodies),
    "idle connection": seconds(LIMITS.idle),
    "record of a server on a shared store": f"renewed every {seconds(replicas.INTERVAL)}; objects are stored for "
    f"{seconds(replicas.FRESH)} after a renewal",
    "requests of a connection, with `--storage etcd:` or `--workers`": f"{count(CONNECTION_REQUESTS)} (`--connection-requests`), or "
    f"{minutes(LIMITS.life)}; a fifth more or less",
    "request other than a watch, or to a connecter": "`--request-timeout`",
    "message of a WebSocket": size(messages.MESSAGE),
    "bytes from a client that a connecter has not read": f"{size(sessions.AHEAD)}, and a record",
    "bytes waiting for a client of a connecter": f"{size(sessions.HIGH)}, then {minutes(sessions.STALLED)}",
    "session of a connecter after its connection has ended": seconds(sessions.FAREWELL),
    "client of a WebSocket that the server has closed": f"{seconds(messages.PARTING)} to close it too",
    "running reads and writes": "`--max-requests-inflight`, `--max-mutating-requests-inflight`; a quarter of each for "
    "unauthenticated requests. Not counted: `/livez`, `/readyz`, `/healthz`, `system:masters`, watches, requests to "
    "connecters, and writes whose body has not arrived",
    "TokenReviews, and separately SubjectAccessReviews": f"{fairqueue.QPS:g} per second, {fairqueue.BURST:g} at once; "
    f"{fairqueue.RUNNING} at a time",
    "reviews for one address (tokens) or one user (access)": f"{fairqueue.RUNNING // fairqueue.SHARE} at a time; "
    f"{fairqueue.WAITING} wait, up to {seconds(fairqueue.PATIENCE)}",
    "invalid tokens from one address": f"{tokenreview.FAILURES}, then {tokenreview.FAILURES_PER_SECOND:g} per second; "
    f"for {count(tokenreview.ADDRESSES)} addresses",
    "distinct SubjectAccessReviews that deny one user": f"{subjectaccessreview.REFUSALS}, then "
    f"{subjectaccessreview.REFUSALS_PER_SECOND:g} per second; for {count(subjectaccessreview.USERS)} users",
    "requests to the cluster through a proxy, besides watches; per kubeconfig and process": f"{tunnelqueue.TUNNELS} under way",
    "requests of your code to the cluster": f"{limited.QPS:g} per second, {limited.BURST:g} at once; "
    f"{limited.RUNNING} without a response yet; {count(limited.WAITING)} wait, up to {seconds(limited.PATIENCE)}",
    "list from the cluster: a page; all of it; the time between two pieces": (
        f"{size(kube.LIST)}; {minutes(transport.LONGEST)}; {seconds(ClientRequest('GET', '/').timeout)}"
    ),
    "watch of the cluster": (
        f"{watching.WATCH_SECONDS} to {watching.WATCH_SECONDS + watching.WATCH_SPREAD} s; {watching.WATCH_GRACE} s more for its end"
    ),
    "silence of a peer: asked after; then until the connection is lost": (
        f"{tcp.IDLE} s; {tcp.INTERVAL * tcp.COUNT} s"
    ),
    "silence about objects that decide over requests": seconds(hearing.BOUND),
    "`Retry-After` of the cluster, when lists and watches are asked for again": seconds(backoff.HEEDED),
    "wait of a queue's key for which the cluster asks": minutes(workqueue.LONGEST_ASKED),
    "exec plugin of a kubeconfig: time; what it prints": (
        f"{seconds(execplugin.PLUGIN_SECONDS)}, {minutes(execplugin.INTERACTIVE_SECONDS)} if it may ask somebody at a "
        f"terminal; {size(guardedprocess.OUTPUT_LIMIT)}"
    ),
    "wait of a request for an exec plugin": "the request's timeout",
    "runs of an exec plugin that fails, or issues what kube-apiserver refuses": (
        f"one at a time, {renewal.FIRST_PAUSE:g} to {seconds(renewal.LAST_PAUSE)} after each other"
    ),
    "token file": size(credentials.LARGEST_TOKEN),
    "events of a recorder waiting to be written": count(eventsink.QUEUED),
    "writing the events that wait when the server stops": f"{seconds(eventsink.DELIVERY)}, {eventsink.WRITERS} at a time, each once",
    "new events about one object": f"{recorder.SPAM_BURST:g} at once, then 1 per {minutes(1 / recorder.SPAM_RATE)}; for "
    f"{count(recorder.KNOWN)} objects",
    "writes waiting for the disk": f"{count(group.WAITING)}; {size(group.WAITING_BYTES)}",
    "answer of etcd": f"{seconds(times.CALL_SECONDS)}; {size(call.MESSAGE)}",
    "object in etcd, with the request around it": "`max-request-bytes` of etcd, 1.5 MiB by default",
    "`--etcd-prefix`; the password in `--etcd-password-file`": f"{endpoints.PREFIX} characters; {size(endpoints.PASSWORD)}",
    "etcd's watch that the server has not read": f"{count(tail.BEHIND_CHANGES)} changes or {size(tail.BEHIND_BYTES)}",
    "wait of a write for its own process's watch of etcd": seconds(times.TOLD_SECONDS),
    "with `--workers` and SQLite: value in the store; bytes waiting for a process": (
        f"{size(hubmessages.LARGEST_VALUE)}; {size(hubchannel.BEHIND)}"
    ),
    "with `--workers` and SQLite: wait for what other processes show already": f"{hubbackend.PATIENCE:g} s",
    "with `--workers`: answers of other processes for `/metrics`": f"{scraping.PATIENCE:g} s",
    "with `--workers`: pause before a process that died is started again": (
        f"{supervisor.FIRST_DELAY:g} to {supervisor.LAST_DELAY:g} s"
    ),
    "watch without `timeoutSeconds`": f"{MIN_SECONDS / 60:g} to {minutes(2 * MIN_SECONDS)}",
    "reviews for open watches": f"{reauthorization.ASKING} at a time",
    "watch while kube-apiserver does not answer its reviews": minutes(reauthorization.UNANSWERED),
    "bytes waiting for a watcher": size(WatchLimits().pending),
    "events kept for resuming watches": f"{seconds(HISTORY.seconds)} or {HISTORY.min_events} events, "
    f"at most {count(HISTORY.max_events)} or {size(HISTORY.max_bytes)}",
    "history of the store": f"{compaction.INTERVAL / 60:g} to {minutes(2 * compaction.INTERVAL)}",
    "history read when a server starts": f"{count(HISTORY.max_events)} revisions",
    "call of a conversion webhook": seconds(webhook.SECONDS),
    "objects per call of a conversion webhook": f"{CONVERSION.objects}; {size(CONVERSION.size)}, or one larger object",
    "calls of a conversion webhook": f"{CONVERSION.calls} at a time per version; {count(CONVERSION.waiting)} wait, up to "
    f"{seconds(CONVERSION.seconds)}",
    "answer of a webhook": f"{size(webhookcall.ANSWER)}, or {webhookcall.GROWTH} times its request if that is more; "
    f"{size(webhookcall.LARGEST)}",
    "match conditions of an admission webhook": f"a cost of {count(conditions.BUDGET)}",
    "match conditions of an admission policy": f"a cost of {count(conditions.BUDGET)}",
    "expressions of an admission policy": f"a cost of {count(expression.CALL_LIMIT)} each, and of {count(composition.BUDGET)} for a "
    "binding and one of its params",
    "what an expression of a mutating policy makes": (
        f"{size(made.MAX_MADE)}, {count(patches.MAX_OPERATIONS)} operations, {strictjson.MAX_DEPTH} levels"
    ),
    "params that an admission policy waits for": seconds(params.WAIT),
    "message that an expression of an admission policy makes": f"{count(validations.LONGEST_MESSAGE)} bytes in one line",
    "operations in the patch of an admission webhook": count(patches.MAX_OPERATIONS),
    "objects of a [feed](../howto/own-storage.md)": count(feedlog.MAX_OBJECTS),
    "`list` of a feed": seconds(feedlog.LIST_SECONDS),
    "wait for feeds at start": seconds(feed.START_SECONDS),
    "changes of a feed in one turn": count(feedlog.TURN),
    "objects that a watch with selectors has shown, if your code serves it": count(authorwatch.MAX_SHOWN),
    "audit annotations of a request": f"{count(audit.MOST)}, of {size(audit.LONGEST)}",
    "cached TokenReviews": f"{count(tokenreview.CACHED)}, for `--authentication-token-webhook-cache-ttl`",
    "cached SubjectAccessReviews": f"{count(subjectaccessreview.CACHED)}, "
    f"{size(subjectaccessreview.CACHED_TOTAL)} of requests, for `--authorization-webhook-cache-*-ttl`",
    "Warning headers of a response": f"{count(warnings._BUDGET)} characters",
    "text from a client in a log line": f"{count(logs.LONGEST)} characters",
    "at shutdown: a silent connection": seconds(LIMITS.farewell),
    "at shutdown: unfinished TCP handshakes": seconds(acceptor.HALF_OPEN),
    "at shutdown: all running requests": seconds(serving.DRAIN),
    "at shutdown: code that blocks the reactor": seconds(watchdog.PATIENCE),
    "protobuf: nesting, fields": f"{protobuf.MAX_DEPTH} levels; {count(wireformat.MAX_FIELDS)}",
    "values of a ConfigMap or Secret, in total": size(data.LARGEST),
    "match conditions of a webhook; `timeoutSeconds`": f"{admissionvalidation.MOST_CONDITIONS}; 1 to {webhookvalidation.LONGEST} s",
    "expressions of a configuration of webhooks that are compiled at once": size(admissionvalidation.MOST_INLINE),
    "expressions of an admission policy that are compiled at once": size(admissionvalidation.MOST_INLINE),
    "match conditions; audit annotations of an admission policy": (
        f"{admissionvalidation.MOST_CONDITIONS}; {policyrules.MOST_ANNOTATIONS}"
    ),
    "expression of an audit annotation": size(policyrules.LONGEST_VALUE),
    "type check of an admission policy: time; nodes of a schema": f"{seconds(policytypes.SECONDS)}; {count(servedtypes.MOST_NODES)}",
    "kinds that a rule of a policy is checked against; resources that are looked up for a policy": (
        f"{typechecking.MOST_TYPES}; {count(typechecking.MOST_NAMES)}"
    ),
    "body of a proxied request, unless it is for a subresource": size(proxy.BODY),
    "discovery of an extension server, for clients and for its availability": seconds(proxy.DISCOVERY),
    "document read from an extension server": size(proxy.DOCUMENT),
    "connections to one extension server": count(upstream.CONNECTIONS),
    "idle upgraded connection": f"{proxy.IDLE / 3600:g} h",
    "lifetime of a token": f"{minutes(tokenreviews.SHORTEST)} to 2^32 s, {tokenreviews.LIFETIME // 3600} h by default",
    "rights in a granted role, counted per verb, resource and name": f"{count(rules.PARTS)}; "
    f"{count(rules.COMPARISONS)} comparisons with the user's rights",
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
