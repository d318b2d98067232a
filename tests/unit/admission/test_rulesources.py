"""Whether any of a cluster's configurations is about a write: found out once, and again after each change."""

from __future__ import annotations

from typing import Any

import pytest

from extapi import Kind, Version
from extapi.admission.base import Operation, Review
from extapi.admission.chain import AdmissionChain
from extapi.admission.matching.index import RuleIndex
from extapi.admission.matching.rules import RuleWithOperations
from extapi.admission.rulesources import RuleSources
from extapi.api.user import User

SCHEMA = {"type": "object"}


class Configuration:
    equivalent = True

    def __init__(self, **members: Any) -> None:
        all_ = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
        self.rules = (RuleWithOperations({**all_, **members}),)


class Source:
    """Configurations that a test replaces."""

    def __init__(self, sources: RuleSources) -> None:
        self._sources = sources
        self.index: RuleIndex[Configuration] | None = None
        self.idle = False
        sources.add(self)

    def put(self, *configurations: Configuration) -> None:
        self.index, self.idle = RuleIndex(configurations), not configurations
        self._sources.changed()


def kind() -> Kind:
    return Kind("Table", versions={"v1": Version(SCHEMA)}, storage="v1", plural="tables", status=False)


TABLE = kind()


def review(of: Kind = TABLE, operation: Operation = Operation.CREATE, **members: Any) -> Review:
    given = {"group": "a.test", "version": "v1", "user": User("u"), "name": "a", "obj": {"metadata": {}}, **members}
    return Review(operation=operation, kind=of, **given)


def test_what_is_not_known_may_be_about_anything() -> None:
    sources = RuleSources()
    one, other = Source(sources), Source(sources)
    assert sources.concern(review())
    one.put()
    assert sources.concern(review())
    other.put()
    assert not sources.concern(review())


def test_each_kind_of_write_is_told_apart() -> None:
    sources = RuleSources()
    Source(sources).put(Configuration(operations=["DELETE"]))
    Source(sources).put(Configuration(resources=["chairs"]), Configuration(resources=["tables/status"]))
    for _ in range(2):
        assert not sources.concern(review())
        assert sources.concern(review(operation=Operation.DELETE))
        assert sources.concern(review(subresource="status"))
        assert sources.concern(review(resource="chairs"))
        assert not sources.concern(review(group="b.test"))


def test_a_scope_is_that_of_the_write() -> None:
    sources = RuleSources()
    Source(sources).put(Configuration(scope="Namespaced"))
    for _ in range(2):
        assert not sources.concern(review())
        assert sources.concern(review(namespace="default"))


def test_a_change_is_seen_by_the_next_write() -> None:
    sources = RuleSources()
    source = Source(sources)
    source.put()
    assert not sources.concern(review())
    source.put(Configuration())
    assert sources.concern(review())
    source.put(Configuration(resources=["chairs"]))
    assert not sources.concern(review())


def test_a_kind_that_is_replaced_is_looked_at_anew() -> None:
    sources = RuleSources()
    Source(sources).put(Configuration(apiVersions=["v2"]))
    assert not sources.concern(review())

    class Versions:
        served = ("v1", "v2")

    assert sources.concern(review(kind(), versions=Versions))


def test_a_configuration_that_cannot_be_read_is_left_to_its_plugin() -> None:
    class Broken:
        idle = False

        @property
        def index(self) -> RuleIndex[Configuration]:
            raise ValueError("no rules")

    sources = RuleSources()
    sources.add(Broken())
    assert sources.concern(review())


class Plugin:
    """Keeps configurations; notes when it is asked."""

    def __init__(self, rules: RuleSources | None, asked: list[str], name: str) -> None:
        self.rules = rules
        self._asked = asked
        self._name = name

    async def mutate(self, review: Review) -> None:
        del review
        self._asked.append(f"{self._name} mutates")

    async def validate(self, review: Review) -> None:
        del review
        self._asked.append(f"{self._name} validates")


def run(running: Any) -> Any:
    with pytest.raises(StopIteration) as stopped:
        running.send(None)
    return stopped.value.value


def test_plugins_are_asked_only_about_what_concerns_them() -> None:
    sources, asked = RuleSources(), list[str]()
    source = Source(sources)
    plugins = [Plugin(sources, asked, "rules"), Plugin(None, asked, "lifecycle")]
    chain = AdmissionChain((), plugins)
    source.put()
    after = run(chain.mutate(review()))
    run(chain.validate(after))
    assert asked == ["lifecycle mutates", "lifecycle validates"]
    asked.clear()

    after = run(chain.mutate(review()))
    source.put(Configuration())  # meanwhile
    run(chain.validate(after))
    assert asked == ["lifecycle mutates", "rules validates", "lifecycle validates"]
    asked.clear()

    run(chain.validate(run(chain.mutate(review()))))
    assert asked == ["rules mutates", "lifecycle mutates", "rules validates", "lifecycle validates"]
