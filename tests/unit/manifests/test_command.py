"""``extapi manifests``: what it writes, and what it says to mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from extapi.manifests.command import manifests
from tests.answering import CONFIG, serving, whole
from tests.certificates import authority
from tests.docs.samples import ROOT

HAND_MADE = {"README.md", "Dockerfile", "Dockerfile.dockerignore"}
PIZZA = "extapi.pizza:api"
LIBRARY = "tests.unit.manifests.apis:library"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(manifests, [str(each) for each in arguments])


def test_deploy_is_what_it_writes_for_the_pizza_api(tmp_path: Path) -> None:
    """If this fails: ``extapi manifests extapi.pizza:api --dir deploy``."""
    result = run(PIZZA, "--dir", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    written = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert result.output.splitlines() == [f"{tmp_path}/out/{name} written" for name in written_order(result)]
    there = {path.name for path in (ROOT / "deploy").iterdir() if path.is_file()}
    assert there - HAND_MADE == set(written)
    for name, text in written.items():
        assert (ROOT / "deploy" / name).read_text() == text, name


def test_deploy_crd_is_what_it_writes_for_the_pizza_api_as_definitions(tmp_path: Path) -> None:
    """If this fails: ``extapi manifests extapi.pizza:api --as crd --dir deploy/crd``."""
    result = run(PIZZA, "--as", "crd", "--dir", str(tmp_path))
    assert result.exit_code == 0, result.output
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {path.name: path.read_text() for path in (ROOT / "deploy" / "crd").iterdir() if path.is_file()} == written
    assert (
        "note: pizzas.restaurant.programming-kubernetes.info: a status that PizzaStrategy.prepare sets" in result.stderr
    )


def test_deploy_replicas_is_what_it_writes_for_three_pods_on_etcd(tmp_path: Path) -> None:
    """If this fails: run the command in the first line of ``deploy/replicas/kustomization.yaml``."""
    servers = "--etcd-servers=https://etcd-0.etcd:2379,https://etcd-1.etcd:2379"
    more = "--etcd-servers=https://etcd-2.etcd:2379"
    result = run(PIZZA, "--dir", str(tmp_path), "--storage=etcd:", servers, more, "--replicas=3")
    assert result.exit_code == 0, result.output
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    there = ROOT / "deploy" / "replicas"
    assert {path.name: path.read_text() for path in there.iterdir() if path.is_file()} == written
    assert written["kustomization.yaml"].startswith(
        f"# Made by: extapi manifests extapi.pizza:api --dir . --storage=etcd: {servers},"
    )


@pytest.mark.parametrize(
    ("target", "flags", "words"),
    [
        (LIBRARY, "", "books.library.example.com: subresource loan is not served: it is Python code"),
        ("tests.unit.manifests.apis:reviews", "", "reviews.desk.example.com: its objects are not stored (rest=)"),
        ("tests.kubernetes.connecting:api", "", "subresource exec is not served: it is Python code"),
        ("tests.unit.manifests.apis:careless", "", "Careless.needs must be a list of PolicyRule"),
        (PIZZA, "--storage=memory:", "--storage: with --as crd kube-apiserver stores the objects; leave it out"),
    ],
)
def test_what_no_definition_can_be_is_refused(target: str, flags: str, words: str) -> None:
    result = run(target, "--as=crd", *flags.split())
    assert (result.exit_code, result.stdout) == (1, "")
    assert words in result.stderr


def written_order(result: Result) -> list[str]:
    return [line.split()[0].rpartition("/")[2] for line in result.output.splitlines()]


def test_each_file_is_one_object_and_in_its_usual_order() -> None:
    for path in (ROOT / "deploy").glob("*.yaml"):
        (document,) = yaml.safe_load_all(path.read_text())
        first = ["apiVersion", "kind"] if path.name == "kustomization.yaml" else ["apiVersion", "kind", "metadata"]
        assert list(document)[: len(first)] == first


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    run(LIBRARY, "--dir", str(tmp_path))
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    result = run(LIBRARY, "--dir", str(tmp_path))
    assert all(line.endswith(" unchanged") for line in result.output.splitlines())
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_what_has_changed_is_told(tmp_path: Path) -> None:
    run(PIZZA, "--dir", str(tmp_path))
    result = run(PIZZA, "--dir", str(tmp_path), "--image=example.com/pizza:2")
    changed = [line.split()[0] for line in result.output.splitlines() if line.endswith(" written")]
    assert [Path(path).name for path in changed] == ["kustomization.yaml", "deployment.yaml"]
    # The command that has made it stands in it, without what was left at its default.
    head = (tmp_path / "kustomization.yaml").read_text().splitlines()[0]
    assert head == "# Made by: extapi manifests extapi.pizza:api --dir . --image=example.com/pizza:2"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            "--image=registry.example.com/restaurant:1 --name=restaurant --namespace=restaurant --port=8443 --replicas=1",
            "",
        ),
        ("--storage=sqlite:////var/lib/restaurant/data.sqlite", ""),
        ("--host-network --port=10443", " --host-network"),
        ("--host-network --port=8443", " --host-network --port=8443"),
        ("--name=shop --namespace=shop --image=registry.example.com/shop:1", " --name=shop"),
        ("--name=shop --namespace=restaurant", " --name=shop --namespace=restaurant"),
        ("--storage=memory:", " --storage=memory:"),
    ],
)
def test_what_changes_nothing_is_not_told(tmp_path: Path, arguments: str, told: str) -> None:
    """So the README's own command, which names the image, leaves ``deploy/`` as it is."""
    result = run(PIZZA, "--dir", str(tmp_path), *arguments.split())
    assert result.exit_code == 0, result.output
    head = (tmp_path / "kustomization.yaml").read_text().splitlines()[0]
    assert head == f"# Made by: extapi manifests extapi.pizza:api --dir .{told}"
    if not told:
        for path in tmp_path.iterdir():
            assert path.read_text() == (ROOT / "deploy" / path.name).read_text()


def test_without_a_directory_it_is_one_stream() -> None:
    result = run(PIZZA)
    assert result.exit_code == 0
    documents = list(yaml.safe_load_all(result.stdout))
    listed = yaml.safe_load((ROOT / "deploy" / "kustomization.yaml").read_text())["resources"]
    assert documents == [yaml.safe_load((ROOT / "deploy" / name).read_text()) for name in listed]
    # What is not in it is said.
    assert "kubectl -n restaurant create secret tls restaurant-tls" in result.stdout


def test_the_kustomization_lists_what_is_there(tmp_path: Path) -> None:
    run(LIBRARY, "--dir", str(tmp_path), "--cert-manager")
    listed = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["resources"]
    there = {path.name for path in tmp_path.iterdir()} - {"kustomization.yaml", "network-policy.yaml"}
    assert set(listed) == there
    assert len(listed) == len(there)


def test_all_mistakes_are_said_together() -> None:
    result = run(PIZZA, "--replicas=2", "--image=two words", "--port=443")
    assert (result.exit_code, result.stdout) == (1, "")
    assert [line.partition(":")[0] for line in result.stderr.splitlines()] == ["Error"] * 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["extapi.pizza:ap"], "Error: module extapi.pizza has no 'ap'; write extapi.pizza:api\n"),
        (["extapi.pizza"], "Error: 'extapi.pizza' is not of the form MODULE:NAME, such as extapi.pizza:api\n"),
    ],
)
def test_an_api_that_is_not_there(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (1, words)


def test_a_directory_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run(PIZZA, "--dir", str(tmp_path / "file" / "below"))
    assert result.exit_code == 1
    assert result.stderr == f"Error: {tmp_path}/file/below: Not a directory\n"


def test_what_somebody_else_has_written_is_not_written_over(tmp_path: Path) -> None:
    """Not even in part."""
    (tmp_path / "service.yaml").write_bytes(b"mine \xff")
    for kustomization in (None, "resources: [service.yaml]\n"):
        if kustomization is not None:
            (tmp_path / "kustomization.yaml").write_text(kustomization)
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        result = run(PIZZA, "--dir", str(tmp_path))
        assert (result.exit_code, result.stdout) == (1, "")
        assert f"Error: {tmp_path} has files that 'extapi manifests' has not made (" in result.stderr
        assert "service.yaml" in result.stderr
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_run_that_did_not_get_to_its_end_is_completed(tmp_path: Path) -> None:
    (tmp_path / "view-role.yaml").symlink_to("missing/there")
    result = run(PIZZA, "--dir", str(tmp_path))
    assert (result.exit_code, result.stderr) == (1, f"Error: {tmp_path}/view-role.yaml: No such file or directory\n")
    (tmp_path / "view-role.yaml").unlink()
    (tmp_path / "server-role.yaml").write_bytes(b"\xff half of it")
    result = run(PIZZA, "--dir", str(tmp_path))
    assert result.exit_code == 0, result.stderr
    assert f"{tmp_path}/server-role.yaml written" in result.stdout
    assert (tmp_path / "server-role.yaml").read_text() == (ROOT / "deploy" / "server-role.yaml").read_text()


@pytest.mark.parametrize("directory", [True, False])
def test_everything_is_written_although_nobody_reads_what_is_said(tmp_path: Path, directory: bool) -> None:
    """As behind ``head``: ended without a word, and the kustomization lists nothing that is not there."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "extapi", "manifests", LIBRARY, *(["--dir", "out"] if directory else [])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
    if directory:
        run(LIBRARY, "--dir", str(tmp_path / "whole"))
        out, whole = (
            {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("out", "whole")
        )
        assert out == whole


@pytest.mark.parametrize(
    "arguments",
    [
        ["--ca-file=x"],
        ["--kubeconfig=x"],
        ["--context=x"],
        ["--patch-ca-bundle", "--cert-manager"],
        ["--replicas=0"],
        ["--port=70000"],
    ],
)
def test_flags_that_do_not_go_together_are_a_usage_error(arguments: list[str]) -> None:
    assert run(PIZZA, *arguments).exit_code == 2


def test_patching_needs_an_authority(tmp_path: Path) -> None:
    result = run(PIZZA, "--patch-ca-bundle", "--dir", str(tmp_path))
    assert result.exit_code == 1
    assert result.stderr.startswith(
        f"Error: {tmp_path}/certs/ca.crt: No such file or directory; make it with 'extapi certs'"
    )


def test_patching_needs_a_cluster(tmp_path: Path) -> None:
    ca, kubeconfig = tmp_path / "ca.crt", tmp_path / "kubeconfig"
    ca.write_bytes(authority("serving").pem)
    arguments = [PIZZA, "--patch-ca-bundle", f"--ca-file={ca}", f"--kubeconfig={kubeconfig}"]
    for content in (None, "", "hello", "a: [b\n", "clusters: []\ncurrent-context: x\n"):
        if content is not None:
            kubeconfig.write_text(content)
        result = run(*arguments)
        assert result.exit_code == 1
        assert result.stderr.startswith(f"Error: cannot use the kubeconfig {kubeconfig}: ")
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        # Port 1 of loopback: nobody listens there, and nobody is asked directly where a proxy is named.
        ({"server": "https://127.0.0.1:1"}, "https://127.0.0.1:1 does not answer: "),
        ({"server": "https://kubernetes.invalid", "proxy-url": "http://127.0.0.1:1"}, "Unable to connect to proxy"),
        (
            {"server": "https://127.0.0.1:1", "proxy-url": "ftp://127.0.0.1:1"},
            "KUBECONFIG: proxy-url has an unsupported scheme",
        ),
        (
            {"server": "https://127.0.0.1:1", "certificate-authority": "/no/ca"},
            "KUBECONFIG: File does not exist: /no/ca",
        ),
        ({"server": ""}, "KUBECONFIG: the cluster has no server"),
    ],
)
def test_a_cluster_that_cannot_be_asked_is_told_in_a_line(tmp_path: Path, cluster: dict[str, str], words: str) -> None:
    ca, kubeconfig = tmp_path / "ca.crt", tmp_path / "kubeconfig"
    ca.write_bytes(authority("serving").pem)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    kubeconfig.write_text(yaml.safe_dump(config))
    result = run(PIZZA, "--patch-ca-bundle", f"--ca-file={ca}", f"--kubeconfig={kubeconfig}")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert words.replace("KUBECONFIG", f"cannot use the kubeconfig {kubeconfig}") in line
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"kind": "Status", "message": "please log in"}', "please log in"),
        (b"<html>", "the answer is 200, and neither APIService nor Status"),
    ],
)
def test_an_answer_that_is_not_the_object_patches_nothing(tmp_path: Path, body: bytes, why: str) -> None:
    """Of a proxy, say: it was an object without webhooks, and nothing had to be done."""
    ca, kubeconfig = tmp_path / "ca.crt", tmp_path / "kubeconfig"
    ca.write_bytes(authority("serving").pem)
    with serving(whole(200, body)) as server:
        kubeconfig.write_text(CONFIG.replace("http://127.0.0.1:1", server))
        result = run(PIZZA, "--patch-ca-bundle", f"--ca-file={ca}", f"--kubeconfig={kubeconfig}")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: cannot get the APIService ")
    assert result.stderr.endswith(f": {why}\n")


def test_a_context_says_which_cluster_is_meant(tmp_path: Path) -> None:
    ca, kubeconfig = tmp_path / "ca.crt", tmp_path / "kubeconfig"
    ca.write_bytes(authority("serving").pem)
    names = {"dev": "https://127.0.0.1:1", "real": "https://127.0.0.1:2"}  # nobody listens there
    config = {
        "clusters": [{"name": name, "cluster": {"server": server}} for name, server in names.items()],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in names],
        "current-context": "dev",
    }
    kubeconfig.write_text(yaml.safe_dump(config))
    arguments = [PIZZA, "--patch-ca-bundle", f"--ca-file={ca}", f"--kubeconfig={kubeconfig}"]
    assert run(*arguments).stderr.startswith("Error: https://127.0.0.1:1 does not answer: ")
    assert run(*arguments, "--context=real").stderr.startswith("Error: https://127.0.0.1:2 does not answer: ")
    missing = run(*arguments, "--context=other")
    assert missing.exit_code == 1
    assert missing.stderr.startswith(f"Error: cannot use the kubeconfig {kubeconfig}: ")


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.DependencyWarning")
def test_a_socks_proxy_needs_a_package_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not among what extapi depends on; where it is installed, it is used."""
    monkeypatch.setitem(sys.modules, "socks", None)
    monkeypatch.delitem(sys.modules, "urllib3.contrib.socks", raising=False)
    test_a_cluster_that_cannot_be_asked_is_told_in_a_line(
        tmp_path,
        {"server": "https://127.0.0.1:1", "proxy-url": "socks5://127.0.0.1:1"},
        "KUBECONFIG: its proxy is a SOCKS proxy",
    )


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what talks to a cluster needs it; rendering does not."""
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    assert run(PIZZA).exit_code == 0
    result = run(PIZZA, "--patch-ca-bundle")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        "Error: --patch-ca-bundle needs the Python package 'kubernetes', which is not installed: "
    )
    assert "pip install 'extapi[kubeconfig]'" in result.stderr
