"""``extapi storage`` beside ``extapi serve``: backups of a running server, and stores that are restored, copied and bumped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.serving import TOPPINGS, Serving


def topping(name: str) -> dict[str, object]:
    api_version = "restaurant.programming-kubernetes.info/v1alpha1"
    return {"apiVersion": api_version, "kind": "Topping", "metadata": {"name": name}, "spec": {"cost": "1"}}


def storage(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "extapi", "storage", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def done(*words: str | Path) -> str:
    result = storage(*words)
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def names(serving: Serving) -> list[str]:
    return [item["metadata"]["name"] for item in serving.request("GET", TOPPINGS)[1]["items"]]


@pytest.fixture
def started(serving: Serving) -> Serving:
    serving.start()
    for name in ("one", "two"):
        assert serving.request("POST", TOPPINGS, topping(name))[0] == 201
    return serving


def test_a_backup_is_made_while_the_server_runs_and_restored(started: Serving, tmp_path: Path) -> None:
    before = started.request("GET", TOPPINGS)[1]
    url, file = f"sqlite:///{started.store}", tmp_path / "toppings.backup"
    assert f"4 keys of {url} at revision" in done("backup", url, file)  # with two records of stored versions
    assert started.request("POST", TOPPINGS, topping("three"))[0] == 201
    latest = int(started.request("GET", TOPPINGS)[1]["metadata"]["resourceVersion"])

    refused = storage("restore", file, url, "--replace")
    assert (refused.returncode, "another process has it open" in refused.stderr) == (1, True)
    assert started.end(signal.SIGTERM) == 0
    refused = storage("restore", file, url)
    assert (refused.returncode, "the store is not empty" in refused.stderr) == (1, True)
    said = done("restore", file, url, "--replace")
    assert "4 keys of" in said
    assert "1 others deleted" in said

    started.start()
    after = started.request("GET", TOPPINGS)[1]
    assert names(started) == ["one", "two"]
    for old, new in zip(before["items"], after["items"], strict=True):
        assert new["metadata"].pop("resourceVersion") > ""
        old["metadata"].pop("resourceVersion")
        assert new == old
    assert int(after["metadata"]["resourceVersion"]) > latest
    status, gone = started.request("GET", f"{TOPPINGS}?watch=1&resourceVersion={latest}&timeoutSeconds=1")
    event = gone if isinstance(gone, dict) else json.loads(gone)
    assert (status, event["object"]["code"], event["object"]["reason"]) == (200, 410, "Expired")


def test_a_store_is_copied_and_goes_on_elsewhere(started: Serving, tmp_path: Path) -> None:
    assert started.end(signal.SIGTERM) == 0
    source, target = f"sqlite:///{started.store}", f"sqlite:///{tmp_path / 'other.db'}"
    done("copy", "--from", source, "--to", target)
    started.store = tmp_path / "other.db"
    started.start()
    assert names(started) == ["one", "two"]


def test_a_server_refuses_a_store_that_is_half_filled(started: Serving, tmp_path: Path) -> None:
    url, file = f"sqlite:///{started.store}", tmp_path / "backup"
    done("backup", url, file)
    assert started.end(signal.SIGTERM) == 0
    # What a copy leaves behind that was killed.
    program = """if True:
        import sys
        from extapi.privatereactor import drive, private_reactor
        from extapi.storage.filling import KEY
        from extapi.storage.sqlite import SqliteBackend
        with private_reactor() as reactor:
            store = SqliteBackend(reactor, sys.argv[1])
            drive(reactor, store.commit(KEY, b"a backup", expected=0))
            drive(reactor, store.close())
    """
    subprocess.run([sys.executable, "-c", program, str(started.store)], check=True, timeout=60)
    with pytest.raises(RuntimeError, match="the store has only a part of what it is being filled with from a backup"):
        started.start()
    done("restore", file, url, "--replace")
    started.start()
    assert names(started) == ["one", "two"]


def test_status_compact_and_bump(started: Serving) -> None:
    url = f"sqlite:///{started.store}"
    said = json.loads(done("status", url, "-o", "json"))
    (row,) = said["resources"]
    assert (row["resource"], row["objects"], row["storedVersions"]) == (
        "toppings.restaurant.programming-kubernetes.info",
        2,
        ["v1alpha1"],
    )
    assert row["bytes"] > 100
    assert said["oldest"] <= said["revision"] == int(started.request("GET", TOPPINGS)[1]["metadata"]["resourceVersion"])
    assert "toppings.restaurant.programming-kubernetes.info        2" in done("status", url)
    assert started.end(signal.SIGTERM) == 0
    done("bump", url, "1000")
    done("compact", url)
    after = json.loads(done("status", url, "-o", "json"))
    assert after["oldest"] == after["revision"] == said["revision"] + 1000
    assert storage("bump", url, str(2**53)).returncode != 0
    started.start()
    assert started.request("POST", TOPPINGS, topping("three"))[0] == 201
    assert names(started) == ["one", "three", "two"]
