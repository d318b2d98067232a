"""pytest fixtures around the control planes: each is started once a test run, a namespace once a test.

Every test that uses ``control_plane`` runs on both, as ``[builtin]`` and as ``[kube]``, unless it is marked with
something that one of them lacks: ``needs("quota")``. Those on the real one are marked ``kubernetes``, so that
``scripts/test --fast`` leaves them out.

``--matrix=FILE`` writes a table of these tests with the result on each.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.kubernetes.control_plane import LACKS, ControlPlane, ExtensionServer, Kubectl, add_extension_server, running

_LOGS = pytest.StashKey[str]()
_numbers = itertools.count(1)


def planes(needs: Iterable[pytest.Mark] = ()) -> list[ParameterSet]:
    """The parameters of a test on every control plane that has what the marks ``needs`` name."""
    wanted = {what for mark in needs for what in mark.args}
    if unknown := wanted.difference(*LACKS.values()):
        raise pytest.UsageError(f"every control plane has {', '.join(sorted(unknown))}, so no test has to say so")
    return [
        pytest.param(name, id=name, marks=[pytest.mark.kubernetes] if name == "kube" else [])
        for name, lacks in LACKS.items()
        if not wanted & lacks
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each control plane. pytest puts those of one together, whatever order they are in otherwise."""
    if "control_plane" in metafunc.fixturenames:
        needs = metafunc.definition.iter_markers("needs")
        metafunc.parametrize("control_plane", planes(needs), indirect=True, scope="session")


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane on loopback."""
    with running(tmp_path_factory.mktemp("control-plane"), request.param) as started:
        request.config.stash[_LOGS] = str(started.state.logs)
        yield started


@pytest.fixture(scope="session")
def extension_server(control_plane: ControlPlane) -> ExtensionServer:
    """The pizza API, served beside the control plane and available through it."""
    return add_extension_server(control_plane, "extapi.pizza:api")


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """The name of a namespace for this test alone. Its deletion is begun afterwards, not waited for."""
    name = f"test-{next(_numbers)}"
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    control_plane.client.request("POST", "/api/v1/namespaces", made)
    yield name
    control_plane.client.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="session")
def kubectl(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """Call it with arguments: the real kubectl, as administrator."""
    return Kubectl(control_plane.kubeconfig, tmp_path_factory.mktemp("kubectl"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say where the logs are when a test with a control plane failed; pytest keeps the files of its last runs."""
    report = yield
    if report.failed and "control_plane" in getattr(item, "fixturenames", ()) and _LOGS in item.config.stash:
        report.sections.append(("control plane", f"logs are in {item.config.stash[_LOGS]}"))
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """How two processes share the tests; each starts a control plane of a name when its first test on it comes."""
    return ByFileAndPlane(config, log)


class ByFileAndPlane(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Keeps the tests of a file on one control plane together, and the order in which pytest put them.

    The order matters: all on one control plane come after each other, and a process that changed between them would
    start them again and again. (The marks of ``--dist loadgroup`` do nothing with pytest 9.2 and pytest-xdist 3.8:
    they are written into an attribute that is no longer read.)
    """

    def __init__(self, config: pytest.Config, log: Producer) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(nodeid: str) -> str:
    """What the tests that are kept together have in common: their file, and the control plane if they use one."""
    file, _, rest = nodeid.partition("::")
    plane = rest.partition("[")[2].rstrip("]").partition("-")[0]
    return f"{file}[{plane}]" if plane in LACKS else file


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--matrix=FILE``."""
    parser.addoption("--matrix", type=Path, metavar="FILE", help="write a table of the end-to-end tests to FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Remember results only where somebody asked for them, and not in each process that runs a part of the tests."""
    path = config.getoption("matrix")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Matrix(path))


class _Matrix:
    """Remembers results, and writes the table at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._results: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One result."""
        if report.when == "call" or not report.passed:
            self._results[report.nodeid] = report.outcome

    def pytest_sessionfinish(self) -> None:
        """Write the table."""
        self._path.write_text(matrix(self._results))


def matrix(results: dict[str, str]) -> str:
    """A Markdown table of tests by control plane; ``results``: outcomes by node id. A dash: not run there."""
    rows: dict[str, dict[str, str]] = {}
    for nodeid, outcome in results.items():
        test, _, parameters = nodeid.partition("[")
        plane, _, rest = parameters.removesuffix("]").partition("-")
        if plane in LACKS:
            rows.setdefault(f"{test}[{rest}]" if rest else test, {})[plane] = outcome
    lines = [["test", *LACKS], ["---"] * (len(LACKS) + 1)]
    lines += [
        [f"`{test}`".replace("|", "\\|"), *(row.get(plane, "-") for plane in LACKS)]
        for test, row in sorted(rows.items())
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
