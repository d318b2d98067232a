"""The Dockerfile and the Deployment have to fit. ``tests/kubernetes/test_image.py`` builds it and starts what it makes."""

from __future__ import annotations

import yaml

from extapi.cli import COMMANDS
from tests.docs.samples import ROOT
from tests.kubernetes import image


def container() -> tuple[dict[str, object], dict[str, object]]:
    pod = yaml.safe_load((ROOT / "deploy" / "deployment.yaml").read_text())["spec"]["template"]["spec"]
    return pod["securityContext"], pod["containers"][0]


def test_the_deployment_begins_where_the_entry_point_ends() -> None:
    _, pizza = container()
    assert image.read().entrypoint == ("extapi",)
    assert "command" not in pizza
    assert isinstance(pizza["args"], list)
    assert pizza["args"][0] in COMMANDS


def test_it_is_no_root_and_the_same_user() -> None:
    context, _ = container()
    assert image.read().user == f"{context['runAsUser']}:{context['runAsGroup']}"


def test_the_final_stage_is_slim_and_builds_nothing() -> None:
    assert image.read().base.endswith("-slim")
    instructions = image.read().instructions
    begin = max(position for position, (word, _) in enumerate(instructions) if word == "FROM")
    assert [rest for word, rest in instructions[begin:] if word == "RUN"] == [
        "python -m pip uninstall --yes pip setuptools wheel"
    ]


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignored = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in ignored
    for word, rest in image.read().instructions:
        if word == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists()
                assert f"!{source}" in ignored
