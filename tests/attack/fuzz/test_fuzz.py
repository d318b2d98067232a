"""The short form of the fuzz: some thousand requests, by two seeds that stay and one that is new each time."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from random import Random
from typing import Any

import pytest

from extapi.codec import options
from extapi.verbs import answer, create
from tests.attack.fuzz.answers import Answer, Malformed, Reader
from tests.attack.fuzz.api import RESOURCES
from tests.attack.fuzz.campaign import main
from tests.attack.fuzz.episode import Episode, Outcome
from tests.attack.fuzz.generator import Generator
from tests.attack.fuzz.judge import Judge, strict_json
from tests.attack.fuzz.requests import Memory
from tests.attack.fuzz.spellings import APPLY, JSON_PATCH, MERGE_PATCH
from tests.attack.fuzz.wire import WireEpisode, serving


def shown(outcome: Outcome) -> str:
    """What was found, with the command that shows it again."""
    return "\n".join(
        f"python -m tests.attack.fuzz --replay {outcome.seed} --until {number}\n  {finding.what}: {finding.detail}"
        for number, finding, _ in outcome.found
    )


@pytest.mark.parametrize(
    "seed", ["short/0", "short/1", "short/2", "short/3", "new/0", "new/1", "apply/0", "apply/1", "apply/2", "apply/new"]
)
def test_no_undesigned_answer_in_memory(seed: str) -> None:
    """Half of what the seeds of ``apply`` send are applied configurations."""
    if seed.endswith("new") or seed.startswith("new/"):
        seed = f"{'apply' if seed.startswith('apply') else ''}{secrets.token_hex(4)}/0"
    outcome = Episode(seed).run()
    print(seed)
    assert not outcome.found, shown(outcome)
    assert outcome.requests == 500
    if seed.startswith("short/"):
        # It gets through to what it attacks: many requests are served, and many are refused for what is in them.
        assert outcome.statuses[200] + outcome.statuses[201] > 80
        assert outcome.statuses[422] > 15


_BODIES = {
    "POST": ("application/json", "application/yaml"),
    "PUT": ("application/json", "application/yaml"),
    "PATCH": (JSON_PATCH, MERGE_PATCH, APPLY),
}


@pytest.mark.parametrize("applies", [15, 100], ids=["as in most episodes", "as in those of apply"])
def test_managed_fields_are_sent_by_every_write(applies: int) -> None:
    """To the main resource, and to status and scale by whatever writes these."""
    memory = Memory()
    for served in RESOURCES:
        obj = {"apiVersion": served.api_version, "kind": served.kind, "metadata": {"name": "n0", "namespace": "a"}}
        memory.keep(served.plural, obj | {"spec": {}})
    generator = Generator(Random("managed"), memory, applies=applies)  # noqa: S311 - the same each time
    expected = {
        (method, media, sub)
        for method, medias in _BODIES.items()
        for sub in (("", "status", "scale") if method != "POST" else ("",))
        for media in (*medias, *(["apply in YAML"] if APPLY in medias else []))
    }
    for _ in range(25_000):
        request = generator.request()
        media = dict(request.headers).get("Content-Type", "")
        sub = request.target.partition("?")[0].rpartition("/")[2]
        # An applied configuration owns what it has; of others, those that claim who owns what.
        if media == APPLY or b"managedFields" in request.body:
            sub = sub if sub in ("status", "scale") else ""
            expected.discard((request.method, media, sub))
            if media == APPLY and not request.body.startswith(b"{"):
                expected.discard((request.method, "apply in YAML", sub))
        if not expected:
            break
    assert not expected


def _careless_number(query: Any, name: str) -> int | None:
    return int(query[name][0]) if query.get(name) else None


def _forgetful_dry_run(query: Any) -> options.CreateOptions:
    return options.CreateOptions(dry_run=False)


@pytest.mark.parametrize(
    ("module", "name", "broken", "what"),
    [
        (options, "parse_int64", _careless_number, "an answer of 5xx"),
        (create, "create_options", _forgetful_dry_run, "a dry run changed something"),
        (answer, "include_object", lambda query: "Object" if 1 // len(query) else "None", "a failure in the log"),
    ],
)
def test_a_server_with_a_mistake_is_found_out(
    module: Any, name: str, broken: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge is worth something: each of these shows within some hundred requests."""
    monkeypatch.setattr(module, name, broken)
    episodes = (Episode(f"short/{seed}").run() for seed in range(5))
    assert any(what == finding.what for outcome in episodes for _, finding, _ in outcome.found)


def test_no_undesigned_answer_over_tls() -> None:
    with serving() as server:
        outcome = WireEpisode("wire/short/0", server, length=240).run()
    assert not outcome.found, shown(outcome)
    assert outcome.statuses[200] + outcome.statuses[201] > 50


def test_the_long_form_in_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Episodes are shared among processes; those that are in the file are not played again."""
    file = tmp_path / "findings.jsonl"
    arguments = ["--seed", "long", "--wire", "0", "--workers", "1", "--findings", str(file), "--requests"]
    assert main([*arguments, "500"]) == 0
    assert main([*arguments, "1000"]) == 0
    assert "1,000 in 2 episodes" in capsys.readouterr().out
    assert [json.loads(line)["seed"] for line in file.read_text().splitlines()] == ["long/0", "long/1"]
    bad = json.loads(file.read_text().splitlines()[0])
    bad["found"] = [{"number": 3, "what": "something", "detail": "odd", "request": {}}]
    file.write_text(json.dumps(bad) + "\n")
    assert main([*arguments, "500"]) == 1
    assert "--replay long/" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    ["NaN", "1e400", "-Infinity", "1" + "0" * 400, '{"a":1,"a":1}', '"\x01"', "[1,]", '{"a":1} x', b'"\xff"'],
)
def test_what_go_would_not_read_is_found(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_json(text if isinstance(text, bytes) else text.encode())


_GOOD = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "m",
    "reason": "NotFound",
    "code": 404,
}


@pytest.mark.parametrize(
    ("method", "status", "body"),
    [
        ("GET", 409, {**_GOOD, "code": 409, "reason": "Conflict"}),
        ("GET", 404, {**_GOOD, "code": 400}),
        ("GET", 404, {**_GOOD, "reason": "Missing"}),
        ("GET", 404, {**_GOOD, "message": ""}),
        ("GET", 404, {"error": "no"}),
        ("GET", 404, {**_GOOD, "message": "Traceback (most recent call last)"}),
        ("POST", 500, {**_GOOD, "code": 500, "reason": "InternalError"}),
        ("POST", 202, {}),
    ],
)
def test_the_judge_finds(method: str, status: int, body: object) -> None:
    judge = Judge()
    judge.answer(
        method, Answer(status, {"content-type": ["application/json"]}, json.dumps(body).encode(), whole=True), "x"
    )
    assert len(judge.findings) >= 1


def test_the_judge_accepts_what_is_designed() -> None:
    judge = Judge()
    judge.answer(
        "GET", Answer(404, {"content-type": ["application/json"]}, json.dumps(_GOOD).encode(), whole=True), "x"
    )
    judge.answer("POST", Answer(431, {"content-type": ["text/plain"]}, b"too large\n", whole=True), "x")
    assert not judge.findings


@pytest.mark.parametrize("length", [{}, {"content-length": ["6"]}])
def test_a_watch_of_http_1_0_is_lines_until_the_end(length: dict[str, list[str]]) -> None:
    judge = Judge()
    found = judge.answer(
        "GET", Answer(200, {"content-type": ["application/json"], **length}, b"{}\n{}\n", whole=True), "x"
    )
    assert (found, [each.what for each in judge.findings]) == (
        (None, ["a body that cannot be read"]) if length else ([{}, {}], [])
    )


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx",
        b"{}\r\n\r\n",
    ],
)
def test_malformed_answers_are_found(data: bytes) -> None:
    with pytest.raises(Malformed):
        Reader(["GET"]).read(bytearray(data), ended=True)
