"""The same kubectl commands on an aggregated kind of ours and on a custom resource with the same schema.

``tests/differential`` compares the requests behind them; this is what a person sees.

All that kube-apiserver says about its own has to be said about ours. What differs on purpose is taken out by
:func:`neutral` and named there. Not compared: string columns with several results (kube-apiserver prints the first only,
we print all), errors below ``status`` (kube-apiserver's text lacks the prefix), and texts that quote Go's types.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.kubernetes.control_plane import ControlPlane, Kubectl
from tests.kubernetes.second import SecondServer
from tests.kubernetes.twin_schema import OURS, PLURAL, THEIRS, VERSION

pytestmark = pytest.mark.needs("crd")

SAME = "s" * len(OURS)


def neutral(text: str) -> str:
    """Without what no two objects have in common: group, uids, revisions, times, temporary files."""
    text = text.replace(OURS, SAME).replace(THEIRS, SAME)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+ \+0000|Z)", "<time>", text)
    text = re.sub(r'((?i:resource\s?version)\\*"?:\s*\\*"?)[0-9]+', r"\1<revision>", text)
    text = re.sub(r"\b\d+(ms|s|m)\b", "<age>", text)
    text = re.sub(r"[ ]+$", "", text, flags=re.MULTILINE)
    text = re.sub(r"(too old resource version: )(\d+|<revision>) \(\d+\)", r"\1<revision>", text)
    text = re.sub(r"(current: |record \(|to be 1, was )\d+", r"\1<revision>", text)
    text = re.sub(r'("continue":|continue:) "?\w{8,}"?', r"\1 <token>", text)
    text = re.sub(r'("continue":)"\w{8,}"', r'\1"<token>"', text)
    # A patched object quoted whole in an error: ours has no managed fields yet, and its members are in another order.
    text = re.sub(r'Invalid value: \\*"\{[^\n]*?\}\\*": strict', "Invalid value: <object>: strict", text)
    # kube-apiserver names a media type among those that it accepts which ours does not take yet.
    text = re.sub(r"(accepted media types include: .*), application/apply-patch\+yaml", r"\1", text)
    return re.sub(r"/tmp/(LIVE|MERGED)-\d+/", r"/tmp/\1/", text)


def gadget(group: str, name: str = "one", **spec: Any) -> str:
    obj = {
        "apiVersion": f"{group}/{VERSION}",
        "kind": "Gadget",
        "metadata": {"name": name, "labels": {"kind": name}},
        "spec": {"size": 3, "parts": [{"name": "wheel", "count": 2}, {"name": "axle"}], **spec},
    }
    return json.dumps(obj)


@pytest.fixture
def twins(gadgets: SecondServer, control_plane: ControlPlane, namespace: str) -> str:
    """A namespace with the gadgets "one" and "two" of both groups."""
    for group in (OURS, THEIRS):
        for name in ("one", "two"):
            path = f"/apis/{group}/{VERSION}/namespaces/{namespace}/{PLURAL}"
            control_plane.client.request("POST", path, json.loads(gadget(group, name)))
    return namespace


COMMANDS = {
    "get": "get R",
    "get one": "get R one",
    "get wide": "get R -o wide",
    "get name": "get R -o name",
    "get slash": "get R/one R/two",
    "get labels": "get R --show-labels -L kind",
    "get selector": "get R -l kind=two",
    "get selector of nothing": "get R -l kind=three",
    "get set selector": "get R -l kind,kind!=two",
    "get wrong selector": "get R -l a=b=c",
    "get field": "get R --field-selector metadata.name=one",
    "get unequal field": "get R --field-selector metadata.name!=one",
    "get unknown field": "get R --field-selector spec.size=3",
    "get sorted": "get R --sort-by=.metadata.name",
    "get chunks": "get R --chunk-size=1",
    "get missing": "get R nope",
    "get missing and one": "get R nope one",
    "get ignored": "get R nope --ignore-not-found",
    "get jsonpath": "get R -o jsonpath={.items[*].spec.parts[*].name}",
    "get columns": "get R -o custom-columns=N:.metadata.name,S:.spec.size",
    "get template": "get R one -o go-template={{.spec.color}}",
    "get no headers": "get R --no-headers",
    "get kind column": "get R --show-kind",
    "get elsewhere": "get R -n nowhere",
    "get yaml": "get R one -o yaml",
    "get json": "get R one -o json",
    "get list": "get R -o yaml",
    "describe": "describe R one",
    "describe missing": "describe R nope",
    "label": "label R one a=b",
    "label again": "label R one kind=other",
    "label over": "label R one kind=other --overwrite",
    "label all": "label R --all a=b",
    "label bad": "label R one a=b/c",
    "annotate": "annotate R one note=x",
    "annotate away": "annotate R one note-",
    "merge patch": "patch R one --type=merge -p {'spec':{'size':4,'color':null}} -o yaml",
    "no change": "patch R one --type=merge -p {'spec':{'size':3}}",
    "patch of nothing": "patch R nope --type=merge -p {}",
    "patch of a wrong type": "patch R one --type=merge -p {'spec':{'size':'4'}}",
    "patch out of bounds": "patch R one --type=merge -p {'spec':{'size':101}}",
    "patch of several": "patch R one --type=merge -p {'spec':{'size':0,'color':'blue','code':'A1','tags':['a','a'],'weight':'x'}}",
    "patch that removes": "patch R one --type=merge -p {'spec':{'size':null}}",
    "patch of an unknown field": "patch R one --type=merge -p {'spec':{'depth':1}}",
    "patch with a duplicate part": "patch R one --type=merge -p {'spec':{'parts':[{'name':'a'},{'name':'a'}]}}",
    "patch of status": "patch R one --subresource=status --type=merge -p {'status':{'ready':true}} -o yaml",
    "patch of scale": "patch R one --subresource=scale --type=merge -p {'spec':{'replicas':1}} -o yaml",
    "patch of no subresource": "patch R one --subresource=resize --type=merge -p {'spec':{'replicas':1}}",
    "patch of a name": "patch R one --type=merge -p {'metadata':{'name':'x'}}",
    "patch of a uid": "patch R one --type=merge -p {'metadata':{'uid':'x'}}",
    "patch of an old revision": "patch R one --type=merge -p {'metadata':{'resourceVersion':'1'}}",
    "json patch": "patch R one --type=json -p [{'op':'replace','path':'/spec/size','value':9},{'op':'remove','path':'/spec/parts/0'}] -o yaml",
    "failed test of a json patch": "patch R one --type=json -p [{'op':'test','path':'/spec/size','value':9}]",
    "json patch without a path": "patch R one --type=json -p [{'op':'remove','path':'/spec/nope'}]",
    "json patch of nonsense": "patch R one --type=json -p [{'op':'jump','path':'/spec'}]",
    "strategic patch": "patch R one -p {'spec':{}}",
    "scale": "scale R one --replicas=2",
    "scale to yaml": "scale R one --replicas=2 -o yaml",
    "scale to what it is": "scale R one --replicas=3",
    "scale of two": "scale R one two --replicas=4",
    "scale of all": "scale R --all --replicas=4",
    "scale of the expected": "scale R one --current-replicas=3 --replicas=4",
    "scale of the unexpected": "scale R one --current-replicas=2 --replicas=4",
    "scale out of bounds": "scale R one --replicas=0",
    "scale beyond bounds": "scale R one --replicas=101",
    "scale of nothing": "scale R nope --replicas=2",
    "scale of an old revision": "scale R one --resource-version=1 --replicas=4",
    "scale dry": "scale R one --replicas=2 --dry-run=server -o yaml",
    "scale as nobody": "scale R one --replicas=2 --as=nobody",
    "get scale": "get R one --subresource=scale",
    "get scale wide": "get R one --subresource=scale -o wide",
    "get scale yaml": "get R one --subresource=scale -o yaml",
    "get scale json": "get R one --subresource=scale -o json",
    "delete": "delete R one",
    "delete missing": "delete R nope",
    "delete all": "delete R --all",
    "delete selector": "delete R -l kind=two",
    "delete dry": "delete R one --dry-run=server",
    "delete without waiting": "delete R one --wait=false",
    "delete orphan": "delete R one --cascade=orphan --wait=false",
    "wait": "wait R/one --for=jsonpath={.spec.size}=3 --timeout=5s",
    "wait in vain": "wait R/one --for=jsonpath={.spec.size}=4 --timeout=100ms",
    "wait for a delete": "wait R/nope --for=delete --timeout=5s",
    "wait for a creation": "wait R/one --for=create --timeout=5s",
    "explain": "explain R.spec --api-version=G",
    "explain parts": "explain R.spec.parts --api-version=G",
    "explain count": "explain R.spec.parts.count --api-version=G",
    "explain size": "explain R.spec.size --api-version=G",
    "explain color": "explain R.spec.color --api-version=G",
    "explain recursively": "explain R --api-version=G --recursive",
    "explain nothing": "explain R.spec.nope --api-version=G",
    "may": "auth can-i create R",
    "may not": "auth can-i delete R/one --as=nobody",
    "forbidden list": "get R --as=nobody",
    "forbidden get": "get R one --as=nobody --as-group=others",
    "forbidden everywhere": "get R -A --as=nobody",
    "forbidden delete": "delete R one --as=nobody",
    "forbidden deletes": "delete R --all --as=nobody",
    "forbidden patch": "patch R one --as=nobody --type=merge -p {}",
    "forbidden status": "patch R one --as=nobody --subresource=status --type=merge -p {}",
    "resources": "api-resources --api-group=GROUP -o wide",
    "categories": "api-resources --api-group=GROUP --categories=things -o name",
    "rollout": "rollout status R/one",
    "logs": "logs R/one",
    "expose": "expose R one --port=80",
    "autoscale": "autoscale R one --max=2 --name=GROUP",
    "events": "events --for R/one",
}
WRITES: dict[str, tuple[str, dict[str, Any]]] = {
    "create": ("create -f -", {"name": "new"}),
    "create as yaml": ("create -f - -o yaml", {"name": "new", "code": "abc", "on": True, "weight": 1.5, "limit": "50%"}),
    "create again": ("create -f -", {}),
    "create of a wrong name": ("create -f -", {"name": "New"}),
    "create of several mistakes": ("create -f -", {"name": "n", "size": 0, "color": "blue", "code": "LONGLONGLONG"}),
    "create of wrong types": ("create -f - --validate=false", {"name": "n", "size": "1", "on": "yes", "labels": {"a": 1}}),
    "create of null": ("create -f - -o yaml", {"name": "n", "note": None, "color": None, "free": {"a": [1, {"b": None}]}}),
    "create of an unknown field": ("create -f -", {"name": "n", "depth": 1, "parts": [{"name": "a", "depth": 1}]}),
    "create with a warning": ("create -f - --validate=warn", {"name": "n", "depth": 1}),
    "create without validation": ("create -f - --validate=false -o yaml", {"name": "n", "depth": 1}),
    "dry create": ("create -f - --dry-run=server", {"name": "n"}),
    "dry create at the client": ("create -f - --dry-run=client", {"name": "n"}),
    "create as nobody": ("create -f - --as=nobody", {"name": "n"}),
    "apply": ("apply -f -", {"name": "new"}),
    "apply over": ("apply -f -", {"size": 7}),
    "apply dry": ("apply -f - --dry-run=server -o yaml", {"size": 7}),
    "apply of a mistake": ("apply -f -", {"name": "n", "size": 200}),
    "apply of an unknown field": ("apply -f -", {"depth": 1}),
    "apply of a wrong type": ("apply -f -", {"size": "x"}),
    "apply and prune": ("apply -f - --prune -l kind=none --prune-allowlist=G/Gadget", {"name": "pruned"}),
    "diff": ("diff -f -", {"size": 7}),
    "diff of a new one": ("diff -f -", {"name": "new"}),
    "diff of a mistake": ("diff -f -", {"size": 700}),
    "replace": ("replace -f -", {"size": 9}),
    "replace of a missing one": ("replace -f -", {"name": "nope"}),
    "replace by force": ("replace -f - --force", {"size": 9}),
    "delete by file": ("delete -f -", {}),
    "get by file": ("get -f -", {}),
    "in a missing namespace": ("create -f - -n nowhere", {}),
    "set": ("set image -f - a=b --local", {}),
}  # fmt: skip


def outcome(kubectl: Kubectl, group: str, namespace: str, command: str, stdin: str = "") -> tuple[int, str, str]:
    words = [
        word.replace("GROUP", group).replace("G/", f"{group}/{VERSION}/").replace("'", '"')
        for word in command.replace("--api-version=G", f"--api-version={group}/{VERSION}").split(" ")
    ]
    words = [re.sub(r"^R(?=$|[./])", f"{PLURAL}.{group}" if words[0] != "explain" else PLURAL, word) for word in words]
    place = [] if "-n" in words or "-A" in words or words[0] in {"api-resources", "explain"} else ["-n", namespace]
    found = kubectl.run(*words, *place, stdin=stdin)
    # Warnings come in any order.
    return found.returncode, neutral(found.stdout), "\n".join(sorted(neutral(found.stderr).splitlines()))


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_kubectl_finds_no_difference(kubectl: Kubectl, twins: str, command: str) -> None:
    ours, theirs = (outcome(kubectl, group, twins, command) for group in (OURS, THEIRS))
    assert ours == theirs


@pytest.mark.parametrize(("command", "spec"), WRITES.values(), ids=WRITES)
def test_kubectl_writes_alike(kubectl: Kubectl, twins: str, command: str, spec: dict[str, Any]) -> None:
    ours, theirs = (outcome(kubectl, group, twins, command, gadget(group, **spec)) for group in (OURS, THEIRS))
    assert ours == theirs
