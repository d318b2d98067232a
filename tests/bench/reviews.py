"""Webhooks of both directions beside Go's: ``scripts/bench --reviews``. CPU time of the measured process.

How long a ConversionReview of 500 pizzas takes ``extapi webhooks``, beside a webhook on controller-runtime that converts
the same; and what a call of a validating webhook costs an extension server, beside sample-apiserver.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from extapi.dev import ports
from extapi.dev.certificates import Certificates
from extapi.dev.kube import KubeError
from tests.bench.peer.generator import Generator, Load, sample_apiserver
from tests.bench.peer.rows import flunder
from tests.bench.peer.sides import GROUP, Side, Sides, cpu_of
from tests.kubernetes import golang, webhookserver
from tests.kubernetes.control_plane import running
from tests.kubernetes.pizzas import GROUP as PIZZAS
from tests.waiting import until

OBJECTS: Final = 500
BAR: Final = 20.0
"""CPU milliseconds of ours per ConversionReview of so many objects."""
_TARGET: Final = "tests.bench.api:api"
_ROUNDS: Final = 3
_CONFIGURATION: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/bench"
_MARKER: Final = "bench-marker"
"""The label of objects that are refused while the webhook is registered."""


@dataclass(frozen=True)
class GoWebhooks:
    """The running webhooks on controller-runtime."""

    port: int
    pid: int


@contextmanager
def go_webhooks(certificates: Certificates) -> Iterator[GoWebhooks]:
    """They run meanwhile."""
    port = ports.choose(0, "--secure-port")
    name = "extension-server"
    command = [str(golang.pizzahooks()), f"127.0.0.1:{port}", str(certificates.certificate(name))]
    with subprocess.Popen([*command, str(certificates.key(name))], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "listening\n"
            yield GoWebhooks(port, process.pid)
        finally:
            process.terminate()


def main(say: Callable[[str], None], directory: Path, *, quick: bool) -> None:
    """Measure everything, and print the tables; what has to be compiled is compiled first."""
    for line in conversions(directory / "conversions", count=10 if quick else 100):
        say(line)
    say("")
    for line in calls(say, directory / "calls", scale=10 if quick else 1):
        say(line)


def conversions(directory: Path, *, count: int) -> Iterator[str]:
    """The table of ConversionReviews; ``count``: of each, in each round."""
    with running(directory, "builtin") as plane, go_webhooks(plane.certificates) as beside:
        server = webhookserver.start(plane, _TARGET, name="webhooks", kubeconfig=plane.kubeconfig)
        context = ssl.create_default_context(cafile=str(plane.certificates.certificate("serving-ca")))
        ends = {
            "extapi webhooks": (server.port, "/convert/v1/pizza", plane.processes.pid("webhooks")),
            "controller-runtime": (beside.port, "/convert", beside.pid),
        }
        yield f"| ConversionReview of {OBJECTS} pizzas: CPU ms | {' | '.join(ends)} | ratio | bar of ours |"
        yield "|---|---|---|---|---|"
        for source, wanted in (("v1alpha1", "v1beta1"), ("v1beta1", "v1alpha1")):
            body = review(source, wanted)
            taken: dict[str, list[float]] = {name: [] for name in ends}
            said = {}
            for _ in range(_ROUNDS):
                for name, (port, path, pid) in ends.items():
                    with_ = partial(_reviewed, context, port, path, body)
                    said[name] = with_(count // 4 + 1)  # warm
                    before = cpu_of(pid)
                    with_(count)
                    taken[name].append((cpu_of(pid) - before) / count / 1000)
            ours, theirs = (converted(each) for each in said.values())
            assert ours == theirs, "they convert differently"
            one, other = (median(each) for each in taken.values())
            yield f"| {source} to {wanted} | {one:.1f} | {other:.1f} | {one / other:.2f} | {BAR:.0f} |"


def review(source: str, wanted: str) -> bytes:
    """A review of pizzas of about 700 bytes, as kube-apiserver sends it."""
    toppings: list[Any] = ["tomato", "mozzarella", "mozzarella", "salami", "salami", "salami"]
    if source == "v1beta1":
        toppings = [{"name": name, "quantity": toppings.count(name)} for name in dict.fromkeys(toppings)]
    objects = [
        {
            "apiVersion": f"{PIZZAS}/{source}",
            "kind": "Pizza",
            "metadata": {
                "name": f"pizza-{number}",
                "namespace": "default",
                "uid": f"00000000-0000-0000-0000-{number:012}",
                "resourceVersion": str(number),
                "generation": 1,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"app": "bench"},
                "managedFields": [
                    {
                        "manager": "bench",
                        "operation": "Update",
                        "apiVersion": f"{PIZZAS}/{source}",
                        "time": "2026-01-01T00:00:00Z",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:toppings": {}}},
                    }
                ],
            },
            "spec": {"toppings": toppings},
            "status": {"cost": "9.00"},
        }
        for number in range(OBJECTS)
    ]
    asked = {"uid": "1", "desiredAPIVersion": f"{PIZZAS}/{wanted}", "objects": objects}
    made = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": asked}
    return json.dumps(made, separators=(",", ":")).encode()


def _reviewed(context: ssl.SSLContext, port: int, path: str, body: bytes, count: int) -> bytes:
    """Send the review so many times over one connection; returns the last answer."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
    try:
        for _ in range(count):
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            read = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status} {read[:200]!r}")
        return read
    finally:
        connection.close()


def converted(answer: bytes) -> list[Any]:
    """The objects of an answer, without what a server keeps of the request's metadata."""
    response = json.loads(answer)["response"]
    if response["result"]["status"] != "Success":
        raise RuntimeError(str(response["result"]))
    return [(each["apiVersion"], each["spec"], each.get("status")) for each in response["convertedObjects"]]


def calls(say: Callable[[str], None], directory: Path, *, scale: int) -> Iterator[str]:
    """The table of writes with one validating webhook, and without."""
    generator, program = Generator(say), sample_apiserver(say)
    with running(directory / "kube", "kube", durable=True) as plane, go_webhooks(plane.certificates) as hooks:
        sides = Sides(plane, directory)
        both = {"wardle": sides.ours(), "sample-apiserver": sides.sample(program)}

        def run(side: Side, load: Load) -> dict[str, float]:
            figures = generator.run(side.direct, load, side.cpu)
            return {name: used / figures.count for name, used in figures.used.items()}

        def registered(*, there: bool) -> None:
            """Register the webhook or remove it; returns when both servers know."""
            if there:
                ca = plane.certificates.certificate("serving-ca").read_bytes()
                plane.client.apply(_CONFIGURATION, configuration(hooks.port, ca))
            else:
                plane.client.delete(_CONFIGURATION)
            for side in both.values():
                sides.register(side)
                until(lambda side=side: _refused(plane.client.request, side) is there, 60)  # type: ignore[misc]

        registered(there=False)
        for side in both.values():
            body = flunder(GROUP, "seed-{n}")
            run(side, Load("POST", side.flunders, 400, 4, body=body, status=201))
        taken: dict[tuple[str, bool, str], list[float]] = {}
        for _ in range(1 if scale > 1 else _ROUNDS):
            for there in (False, True):
                registered(there=there)
                for process, side in both.items():
                    for row, load in writes(side, scale).items():
                        taken.setdefault((row, there, process), []).append(run(side, load)[process])
                    run(side, Load("DELETE", f"{side.flunders}/one-{{n}}", 1000 // scale, 4))
        yield from _differences({key: median(each) for key, each in taken.items()}, list(both))


def writes(side: Side, scale: int) -> dict[str, Load]:
    """What is measured, by the name of the row."""
    patch = '{"metadata":{"labels":{"batch":"{unique}"}}}'
    return {
        "PATCH": Load("PATCH", f"{side.flunders}/seed-{{i}}", 2000 // scale, 8, body=patch),
        "CREATE": Load("POST", side.flunders, 1000 // scale, 8, body=flunder(GROUP, "one-{n}"), status=201),
    }


def configuration(port: int, ca: bytes) -> dict[str, Any]:
    """One validating webhook of all writes of flunders, and one of those that show that it is known."""
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["flunders"]}

    def webhook(name: str, path: str, operator: str) -> dict[str, Any]:
        return {
            "name": f"{name}.bench.test",
            "clientConfig": {
                "url": f"https://127.0.0.1:{port}/{path}",
                "caBundle": base64.b64encode(ca).decode(),
            },
            "rules": [rule],
            "objectSelector": {"matchExpressions": [{"key": _MARKER, "operator": operator}]},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }

    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "bench"},
        "webhooks": [webhook("measured", "allow", "DoesNotExist"), webhook("marker", "deny", "Exists")],
    }


def _refused(request: Callable[..., bytes], side: Side) -> bool:
    obj = json.loads(flunder(GROUP, "marker"))
    obj["metadata"]["labels"][_MARKER] = ""
    try:
        request("POST", f"{side.flunders}?dryRun=All", obj)
    except KubeError as error:
        if "denied the request" not in str(error):
            raise
        return True
    return False


def _differences(found: Mapping[tuple[str, bool, str], float], processes: list[str]) -> Iterator[str]:
    """CPU of the server process alone: the database has nothing to do with webhooks."""
    names = {"wardle": "extapi serve"}
    heads = (f"{names.get(name, name)}: without | with | the call" for name in processes)
    yield f"| CPU us per write, of the server | {' | '.join(heads)} | ratio of the calls |"
    yield "|---" * (2 + 3 * len(processes)) + "|"
    for row in dict.fromkeys(key[0] for key in found):
        pairs = [(found[row, False, name], found[row, True, name]) for name in processes]
        cells = (f"{without:,.0f} | {with_:,.0f} | {with_ - without:,.0f}" for without, with_ in pairs)
        one, other = (with_ - without for without, with_ in pairs)
        yield f"| {row} | {' | '.join(cells)} | {one / other:.2f} |"
