"""Groups and paths that need no question (behaviour B8, B9)."""

from __future__ import annotations

import pytest

from extapi.api.user import User
from extapi.authorization.alwaysallow import AlwaysAllowGroups, AlwaysAllowPaths
from extapi.authorization.authorizer import Attributes, Verdict
from tests.unit.client.building import run

BOB = User("bob", groups=("system:authenticated",))
PIZZA = Attributes("get", "/apis/restaurant.io/v1/pizzas", is_resource=True, group="restaurant.io", resource="pizzas")


def test_masters_may_everything() -> None:
    groups = AlwaysAllowGroups()
    assert run(groups.authorize(User("a", groups=("x", "system:masters")), PIZZA)).verdict is Verdict.ALLOW
    assert run(groups.authorize(User("system:masters"), PIZZA)).verdict is Verdict.NO_OPINION


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        ("/healthz", Verdict.ALLOW),
        ("/livez", Verdict.ALLOW),
        ("/readyz", Verdict.ALLOW),
        ("/readyz/ping", Verdict.NO_OPINION),
        ("/healthz/", Verdict.NO_OPINION),
        ("/metrics", Verdict.NO_OPINION),
        ("/", Verdict.NO_OPINION),
    ],
)
def test_health_is_for_everybody(path: str, verdict: Verdict) -> None:
    assert run(AlwaysAllowPaths().authorize(BOB, Attributes("get", path))).verdict is verdict


def test_paths_by_prefix_without_slash_and_never_resources() -> None:
    paths = AlwaysAllowPaths(["docs", "/open/*"])

    def verdict(attributes: Attributes) -> Verdict:
        return run(paths.authorize(BOB, attributes)).verdict

    assert verdict(Attributes("get", "/docs")) is Verdict.ALLOW
    assert verdict(Attributes("get", "/open/a/b")) is Verdict.ALLOW
    assert verdict(Attributes("get", "/open")) is Verdict.NO_OPINION
    assert verdict(Attributes("get", "/docs", is_resource=True)) is Verdict.NO_OPINION
    assert run(AlwaysAllowPaths(["*"]).authorize(BOB, Attributes("get", "/any"))).verdict is Verdict.ALLOW


@pytest.mark.parametrize("path", ["/a*b", "*/a", "/a**"])
def test_a_star_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="only trailing"):
        AlwaysAllowPaths([path])
