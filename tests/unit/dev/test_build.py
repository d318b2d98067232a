"""With a shell script in the place of the Go compiler, which takes minutes; the real one is used by tests/kubernetes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from extapi.dev.build import Programs, build, control_plane, programs
from extapi.dev.failure import DevFailure
from extapi.dev.golang import _compile, cache_directory, cache_key

GO = r"""#!/bin/sh
if [ "$1" = env ]; then echo go1.26.9; exit; fi
echo "$GOFLAGS $GOTOOLCHAIN $*" >> "$COUNT"
echo some/package >&2
while [ "$1" != -o ]; do shift; done
. "$BEHAVIOUR"
echo binary > "$2"
"""


class Compiler:
    """A place with sources, a cache and a compiler."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cache = root / "cache"
        self.sources = root / "sources"
        self.sources.mkdir()
        for name in ("go.mod", "go.sum", "main.go"):
            (self.sources / name).write_text(name)
        self.behaviour = root / "behaviour"
        self.behaviour.touch()
        self.calls = root / "calls"
        (root / "bin").mkdir()
        (root / "bin" / "go").write_text(GO)
        (root / "bin" / "go").chmod(0o755)
        monkeypatch.setenv("PATH", f"{root / 'bin'}:/usr/bin:/bin")
        monkeypatch.setenv("COUNT", str(self.calls))
        monkeypatch.setenv("BEHAVIOUR", str(self.behaviour))
        self.said: list[str] = []

    def build(self) -> Path:
        return build(self.said.append, cache=self.cache, sources=self.sources)


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    return Compiler(tmp_path, monkeypatch)


def test_the_binary_is_compiled_once(compiler: Compiler) -> None:
    binary = compiler.build()
    assert binary.read_text() == "binary\n"
    assert compiler.build() == binary
    calls = compiler.calls.read_text().splitlines()
    assert len(calls) == 1
    assert calls[0].startswith("-mod=readonly local build -v -trimpath -ldflags -s -w -X ")
    assert "version.gitVersion=v1.36.3" in calls[0]
    assert compiler.said == ["compiling the control plane (once; some minutes)"]


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go", "another.go"])
def test_other_sources_are_another_binary(compiler: Compiler, name: str) -> None:
    before = compiler.build()
    (compiler.sources / name).write_text("changed")
    assert compiler.build() != before


def test_another_compiler_is_another_binary_and_other_files_are_not() -> None:
    assert cache_key(control_plane(), "go1.26.8") != cache_key(control_plane(), "go1.26.9")
    assert cache_key(control_plane(), "go1.26.8") == cache_key(control_plane(), "go1.26.8")


def test_two_runs_at_once_compile_once(compiler: Compiler, tmp_path: Path) -> None:
    compiler.behaviour.write_text(
        f"echo > {tmp_path}/begun; for i in $(seq 3000); do [ -e {tmp_path}/go-on ] && break; sleep 0.01; done"
    )
    script = f"""
from pathlib import Path
from extapi.dev.build import build
print(build(lambda line: print(line, flush=True), cache=Path({str(compiler.cache)!r}), sources=Path({str(compiler.sources)!r})))
"""
    with (
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as first,
        subprocess.Popen(
            [
                "sh",
                "-c",
                f'for i in $(seq 3000); do [ -e {tmp_path}/begun ] && break; sleep 0.01; done; exec "$0" -c "$1"',
                sys.executable,
                script,
            ],
            stdout=subprocess.PIPE,
            text=True,
        ) as second,
    ):
        assert second.stdout is not None
        assert second.stdout.readline() == "waiting for another run that compiles the control plane\n"
        (tmp_path / "go-on").touch()
        outputs = [first.communicate(timeout=60)[0], second.communicate(timeout=60)[0]]
    assert outputs[0].splitlines()[-1] == outputs[1].splitlines()[-1]
    assert len(compiler.calls.read_text().splitlines()) == 1


def test_a_failed_compilation_names_its_log_and_leaves_nothing(compiler: Compiler) -> None:
    compiler.behaviour.write_text('echo half > "$2"; echo main.go:1: wrong >&2; exit 2')
    with pytest.raises(DevFailure, match=r"could not be compiled \(go ended with status 2\); see (.*)$") as failure:
        compiler.build()
    log = str(failure.value).rpartition("see ")[2]
    assert Path(log).read_text() == "some/package\nmain.go:1: wrong\n"
    compiler.behaviour.write_text("")
    assert compiler.build().read_text() == "binary\n"


def test_an_interrupted_compilation_ends_its_compilers_and_is_done_again(compiler: Compiler, tmp_path: Path) -> None:
    compiler.behaviour.write_text(f"sleep 60 & echo $! > {tmp_path}/pid; echo next >&2; wait")

    class Interrupted(BaseException):
        pass

    # The reader of the compiler's output is where an interruption finds us.
    class Progress:
        def step(self, what: str) -> None:
            if what == "next":
                raise Interrupted

    with pytest.raises(Interrupted):
        _compile(
            tmp_path / "bin" / "go",
            control_plane(compiler.sources),
            tmp_path / "result",
            tmp_path / "build.log",
            Progress(),
        )
    sleeper = Path("/proc") / (tmp_path / "pid").read_text().strip()
    deadline = time.monotonic() + 10
    while sleeper.exists() and sleeper.joinpath("stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not (tmp_path / "result").exists()


def test_without_a_checkout_there_is_nothing_to_compile(tmp_path: Path) -> None:
    with pytest.raises(DevFailure, match="compiled only in a checkout of extapi: set KUBEBUILDER_ASSETS"):
        build(print, cache=tmp_path, sources=tmp_path)


def test_a_cache_that_cannot_be_written_is_named(compiler: Compiler) -> None:
    compiler.cache.touch()
    with pytest.raises(
        DevFailure, match=f"^cannot write the cache {re.escape(str(compiler.cache))} for the control plane: "
    ):
        compiler.build()


def test_the_programs_are_chosen_by_the_first_argument(compiler: Compiler) -> None:
    found = programs(print, environment={"XDG_CACHE_HOME": str(compiler.cache)}, sources=compiler.sources)
    binary = found.etcd[0]
    assert found == Programs((binary, "etcd"), (binary, "kube-apiserver"), (binary, "kube-controller-manager"))
    assert binary.startswith(f"{compiler.cache}/extapi/controlplane/1.36.3-")


def test_the_cache_is_where_the_xdg_specification_puts_it() -> None:
    assert cache_directory({"XDG_CACHE_HOME": "/x"}) == Path("/x/extapi")
    assert cache_directory({}) == Path.home() / ".cache/extapi"


def test_prebuilt_programs_are_used_where_they_are_named(tmp_path: Path) -> None:
    environment = {"KUBEBUILDER_ASSETS": str(tmp_path)}
    for name in ("etcd", "kube-apiserver"):
        with pytest.raises(
            DevFailure, match=f"^KUBEBUILDER_ASSETS is {tmp_path}, but there is no program {name} in it$"
        ):
            programs(print, environment=environment)
        (tmp_path / name).touch(mode=0o755)
    etcd, apiserver = (str(tmp_path / "etcd"),), (str(tmp_path / "kube-apiserver"),)
    assert programs(print, environment=environment) == Programs(etcd, apiserver, None)
    (tmp_path / "kube-controller-manager").touch(mode=0o755)
    found = programs(print, environment=environment)
    assert found == Programs(etcd, apiserver, (str(tmp_path / "kube-controller-manager"),))


def test_it_is_a_command_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "extapi.dev.build"]
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(tmp_path)}
    failed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == f"error: KUBEBUILDER_ASSETS is {tmp_path}, but there is no program etcd in it\n"
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).touch(mode=0o755)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / 'kube-apiserver'}\n"
