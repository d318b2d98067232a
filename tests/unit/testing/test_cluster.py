"""The cluster that an author's code reaches in memory: real kinds, and the rights that the Api declares."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from extapi import Api, Context, Forbidden, Group, Kind, NotFound, PolicyRule, Version
from extapi.testing import InMemoryServer, serve

ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SECRETS = ("", "v1", "secrets")
PODS = ("", "v1", "pods")


def api(*needs: PolicyRule) -> Api:
    return Api(Group("a.example.com", Kind("A", storage="v1", versions={"v1": Version(ANY)})), needs=needs)


def context(server: InMemoryServer) -> Context:
    return server.server.context


def secret(**members: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"}, **members}


def test_what_the_code_makes_the_test_sees_and_the_kinds_have_their_rules() -> None:
    rule = PolicyRule(api_groups=[""], resources=["secrets"], verbs=["create"])
    with serve(api(rule)) as server:
        server.run(context(server).cluster.create(*SECRETS, secret(stringData={"key": "value"})))
        answer = server.cluster.request("GET", "/api/v1/namespaces/default/secrets/a").json()
        assert (answer["type"], answer["data"]) == ("Opaque", {"key": "dmFsdWU="})


def test_what_is_not_declared_is_forbidden_as_in_a_cluster() -> None:
    rule = PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["*"])
    with serve(api(rule)) as server, capture_logs() as lines:
        with pytest.raises(Forbidden, match='cannot create resource "secrets" in API group ""') as caught:
            server.run(context(server).cluster.create(*SECRETS, secret()))
        assert 'resources=["secrets"], verbs=["create"]' in caught.value.__notes__[0]
        assert server.run(context(server).cluster.list("", "v1", "configmaps")) == []
    assert [line["event"] for line in lines] == ["a right is missing in the cluster"]


def test_a_test_may_add_kinds_to_groups_that_are_there_and_that_are_not() -> None:
    pods = Group("", Kind("Pod", storage="v1", versions={"v1": Version(ANY)}))
    apps = Group("apps", Kind("Deployment", storage="v1", versions={"v1": Version(ANY)}))
    everything = PolicyRule(api_groups=["*"], resources=["*"], verbs=["*"])
    with serve(api(everything), cluster=[pods, apps]) as server:
        cluster = context(server).cluster
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}}
        server.run(cluster.create(*PODS, pod))
        server.run(cluster.patch_status(*PODS, "a", {"phase": "Running"}, namespace="default"))
        assert server.run(cluster.get(*PODS, "a", namespace="default"))["status"] == {"phase": "Running"}
        assert server.run(cluster.list("apps", "v1", "deployments")) == []
        assert server.run(cluster.list(*SECRETS)) == []
        with pytest.raises(NotFound):
            server.run(cluster.list("batch", "v1", "jobs"))


def test_who_asks_while_it_starts_waits() -> None:
    everything = PolicyRule(api_groups=["*"], resources=["*"], verbs=["*"])

    class Two:
        """Two informers at once."""

        async def run(self, context: Context) -> None:
            for resource in ("secrets", "configmaps"):
                informer = context.cluster.informer("", "v1", resource)
                await informer.wait_synced()
            self.done = True
            await context.sleep(1000)

    two = Two()
    groups = api().groups
    with serve(Api(*groups, controllers=[two, Two()], needs=[everything])) as server:
        server.advance(1)
        assert two.done


def test_it_stands_on_the_servers_clock() -> None:
    with serve(api()) as server:
        assert server.cluster.clock is server.clock
        assert server.cluster is server.cluster
