"""Every page: its samples run, its links lead somewhere. What is typed into a shell: ``tests/kubernetes/test_readme.py``."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.samples import LANGUAGES, PAGES, ROOT, Reader, blocks, commands, run_python, same, write_files

DOCS = [page for page in PAGES if page.is_relative_to(ROOT / "docs")]
WITH_PYTHON = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]
MANIFESTS = sorted((ROOT / "docs").glob("**/*.yaml"))


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_what_it_is(page: Path) -> None:
    fences = page.read_text(encoding="utf-8").count("```")
    assert fences == 2 * len(blocks(page))
    assert {block.language for block in blocks(page)} <= LANGUAGES


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name)
def test_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    run_python(page)
    # Another page may have a module of the same name.
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_yaml_is_yaml(page: Path) -> None:
    for block in blocks(page):
        if block.language == "yaml":
            for document in yaml.safe_load_all(block.text):
                # Files of configuration are no objects.
                configures = document.get("kind") in {"AdmissionConfiguration", "Config"}
                assert {"apiVersion", "kind"} | (set() if configures else {"metadata"}) <= set(document)


@pytest.mark.parametrize("path", MANIFESTS, ids=name)
def test_manifests_are_used(path: Path) -> None:
    assert list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    assert any(name(path) in page.read_text(encoding="utf-8") for page in PAGES)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if not link.startswith("https://"):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", DOCS, ids=name)
def test_the_index_leads_to_every_page(page: Path) -> None:
    index = ROOT / "docs" / "README.md"
    assert page == index or f"({page.relative_to(index.parent)})" in index.read_text(encoding="utf-8")


def test_the_rights_in_serve_are_those_that_dev_gives() -> None:
    from extapi.dev.registration import _rights  # noqa: PLC0415  # a private name, which only this test compares

    documents = [
        document
        for block in blocks(ROOT / "docs/howto/serve.md")
        if block.language == "yaml"
        for document in yaml.safe_load_all(block.text)
    ]
    told = [(each["kind"], each.get("roleRef", {}).get("name"), each.get("rules")) for each in documents[:-1]]
    given = [(each["kind"], each.get("roleRef", {}).get("name"), each.get("rules")) for _, each in _rights()]
    shorter = [
        (kind, "extension-server" if role == "extapi-dev:extension-server" else role, rules)
        for kind, role, rules in given
    ]
    assert told == [each for each in shorter if each[0] not in {"Namespace", "ServiceAccount"}]


def test_nothing_of_the_machine_it_was_written_on() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"/root/|/tmp/(?!LIVE-|MERGED-)|pypi\.|index-url", text), name(page)
        assert os.path.expanduser("~/") not in text, name(page)  # noqa: PTH111  # a text, not a path


# What reads the pages


def test_outputs_are_compared_but_for_what_changes_each_time() -> None:
    assert same("NAME   AGE\na      3s\n", "NAME      AGE\na         4m2s")
    assert same("first\n...\nlast\n", "first\nsecond\nthird\nlast")
    assert same("  uid: 0d8c4455-7ba7-492a-884f-1f8b44bc98c7", "  uid: b3f73572-26cb-4f42-be26-46d1600c4ce9")
    assert not same("NAME   COST\na      3.50", "NAME   COST\na      3.60")
    assert not same("first\n...\nlast\n", "first\nsecond")
    assert not same("  a: b", "a: b")


def test_a_block_is_read_as_commands_and_outputs(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("text\n\n```console watch\nmore\n$ cat <<E\n> a\n> E\na\n$ true\n```\n")
    (block,) = blocks(page)
    assert block.words == ("console", "watch")
    assert block.line == 4
    assert list(commands(block)) == [("", "more\n"), ("cat <<E\na\nE", "a\n"), ("true", "")]


def test_another_control_plane_begins_with_lines_of_its_own(tmp_path: Path) -> None:
    printed = "this is ours\nstarting ours\nstarting the extension server for a:b\nready after 1.0 s\n"
    assert Reader(tmp_path)._started("dev", printed) == printed
    assert Reader(tmp_path, "kube")._started("watch", printed) == printed
    theirs = Reader(tmp_path, "kube")._started("dev", printed)
    assert same(theirs, "starting theirs\nstarting the extension server for a:b\nready after 4.0 s")
    assert not same(theirs, "starting theirs\nstarting the extension server for c:d\nready after 4.0 s")
