from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from extapi import (
    CLUSTER,
    ApiError,
    Column,
    FieldError,
    Group,
    Kind,
    Object,
    Operation,
    Review,
    Strategy,
    Struct,
    User,
    Version,
)
from extapi.api.definition import Api
from extapi.api.protocols import RESTRequest
from extapi.api.subresource import Subresource
from extapi.controlplane.builtin.behaviour import built_in
from extapi.registry.served import ServedKind
from extapi.registry.virtual import subresource_kind
from extapi.testing import InMemoryServer, ServerResponse, serve
from tests.unit.verbs.sample import Plugin, failure

GROUP = "desk.example.com"
V1 = f"/apis/{GROUP}/v1"
QUESTIONS = f"{V1}/questions"
WHISPERS = f"{V1}/namespaces/default/whispers"
BOOKS = f"{V1}/namespaces/default/books"
ALICE = User("alice", groups=("readers", "system:authenticated"))


class QuestionSpec(Struct):
    text: str
    polite: bool = True


class QuestionStatus(Struct):
    answer: str = "none"


class Question(Object):
    spec: QuestionSpec
    status: QuestionStatus = QuestionStatus()


class AlphaQuestion(Object):
    text: str = ""
    answer: str = ""


class Desk:
    """Answers questions; knows nothing else."""

    def __init__(self) -> None:
        self.asked: list[RESTRequest] = []
        self.given: list[Any] = []
        self.gives: Any = None

    async def create(self, asked: RESTRequest, question: Any) -> Any:
        self.asked.append(asked)
        self.given.append(question)
        if self.gives is not None:
            return self.gives
        question.status.answer = f"{asked.user.name} asks {question.spec.text}"
        return question


def to_question(alpha: AlphaQuestion) -> Question:
    return Question(spec=QuestionSpec(text=alpha.text), status=QuestionStatus(answer=alpha.answer))


def from_question(question: Question) -> AlphaQuestion:
    return AlphaQuestion(text=question.spec.text, answer=question.status.answer)


class QuestionStrategy(Strategy):
    def prepare(self, obj: Question, old: Question | None) -> None:
        if obj.spec.text == "hello":
            obj.spec.text = "hello?"

    def validate(self, obj: Question, old: Question | None) -> Any:
        if not obj.spec.text.endswith("?"):
            yield FieldError.invalid("spec.text", obj.spec.text, "must be a question")

    def warn(self, obj: Question, old: Question | None) -> Any:
        if not obj.spec.polite:
            yield "be polite"


class Shelf:
    """Keeps books in a dict: everything that a kind can do without a store."""

    def __init__(self) -> None:
        self.books: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, RESTRequest]] = []
        self.stays = False

    async def create(self, asked: RESTRequest, obj: dict[str, Any]) -> Any:
        self.asked.append(("create", asked))
        obj["metadata"] |= {"uid": "u-1", "resourceVersion": "1"}
        if not asked.dry_run:
            self.books[obj["metadata"]["name"]] = obj
        return obj

    async def get(self, asked: RESTRequest) -> Any:
        self.asked.append(("get", asked))
        return self.books.get(asked.name)

    async def list(self, asked: RESTRequest) -> Any:
        self.asked.append(("list", asked))
        return self.books.values()

    async def update(self, asked: RESTRequest, obj: dict[str, Any]) -> Any:
        self.asked.append(("update", asked))
        obj["metadata"]["resourceVersion"] = str(int(obj["metadata"]["resourceVersion"]) + 1)
        if not asked.dry_run:
            self.books[asked.name] = obj
        return obj

    async def delete(self, asked: RESTRequest) -> Any:
        self.asked.append(("delete", asked))
        if self.stays:
            return self.books[asked.name]
        return self.books.pop(asked.name, None) and None


class Bell:
    """Can be rung, and nothing else but taken away."""

    def __init__(self) -> None:
        self.gone: list[str] = []

    async def delete(self, asked: RESTRequest) -> None:
        self.gone.append(asked.name)


class TicketSpec(Struct):
    seats: int = 1


class TicketStatus(Struct):
    code: str


class Ticket(Object):
    spec: TicketSpec = TicketSpec()
    status: TicketStatus | None = None


class Counter:
    """Sells tickets for what is on show."""

    def __init__(self) -> None:
        self.asked: list[RESTRequest] = []

    async def create(self, asked: RESTRequest, ticket: Ticket) -> Ticket:
        self.asked.append(asked)
        ticket.metadata.name = asked.name
        ticket.status = TicketStatus(code=f"{asked.namespace}/{asked.name}/{ticket.spec.seats}")
        return ticket


BOOK = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"pages": {"type": "integer"}, "author": {"type": "string", "default": "unknown"}},
        }
    },
}


class Library:
    def __init__(self) -> None:
        self.desk, self.shelf, self.counter, self.bell, self.plugin = Desk(), Shelf(), Counter(), Bell(), Plugin()
        ticket = Subresource(rest=self.counter, group="tickets.example.com", version="v2", kind="Ticket", type=Ticket)
        api = Api(
            Group(
                GROUP,
                Kind(
                    "Question",
                    scope=CLUSTER,
                    storage="v1",
                    hub=Question,
                    versions={
                        "v1": Version(Question),
                        "v1alpha1": Version(
                            AlphaQuestion,
                            to_hub=to_question,
                            from_hub=from_question,
                            columns=[Column("ServerResponse", ".answer")],
                        ),
                    },
                    columns=[Column("ServerResponse", ".status.answer")],
                    strategy=QuestionStrategy(),
                    rest=self.desk,
                ),
                Kind("Whisper", storage="v1", versions={"v1": Version(Question)}, rest=self.desk),
                Kind(
                    "Book",
                    storage="v1",
                    versions={"v1": Version(BOOK)},
                    selectable=[".spec.author"],
                    rest=self.shelf,
                ),
                Kind("Bell", storage="v1", scope=CLUSTER, versions={"v1": Version({"type": "object"})}, rest=self.bell),
                Kind(
                    "Show",
                    storage="v1",
                    versions={"v1": Version({"type": "object"})},
                    behaviour=built_in(),
                    subresources={"ticket": ticket},
                ),
            ),
            admission=[self.plugin],
        )
        self.api = api


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def server(library: Library) -> Iterator[InMemoryServer]:
    with serve(library.api) as server:
        yield server


def question(text: str = "who?", *, kind: str = "Question", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {}, "spec": {"text": text, **spec}}


def book(name: str = "b", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Book", "metadata": {"name": name}, "spec": spec}


def bare(answer: ServerResponse) -> dict[str, Any]:
    """The object in an answer, without managed fields; there have to be some."""
    obj: dict[str, Any] = answer.json()
    assert obj["metadata"].pop("managedFields")
    return obj


# -- reviews


def test_an_answer_comes_from_the_author_and_nothing_is_filled_in(library: Library, server: InMemoryServer) -> None:
    answer = server.request("POST", QUESTIONS, {"fieldManager": "asker"}, body=question(), user=ALICE)
    assert answer.status == 201
    # As kube-apiserver 1.36.3 answers a SubjectAccessReview: no uid, no creationTimestamp, no name, but managed fields.
    (entry,) = answer.json()["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"], entry["apiVersion"]) == ("asker", "Update", f"{GROUP}/v1")
    assert entry["fieldsV1"]["f:spec"] == {".": {}, "f:text": {}, "f:polite": {}}
    assert bare(answer) == {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Question",
        "metadata": {},
        "spec": {"text": "who?", "polite": True},
        "status": {"answer": "alice asks who?"},
    }
    assert library.desk.asked == [RESTRequest(ALICE, "v1")]


def test_objects_reach_the_author_in_the_hub_form_and_leave_in_the_version_of_the_request(
    library: Library, server: InMemoryServer
) -> None:
    body = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Question", "text": "who?"}
    answer = server.request("POST", f"/apis/{GROUP}/v1alpha1/questions", body=body, user=ALICE)
    assert bare(answer) == {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "Question",
        "metadata": {},
        "text": "who?",
        "answer": "alice asks who?",
    }
    assert isinstance(library.desk.given[0], Question)
    assert library.desk.asked == [RESTRequest(ALICE, "v1alpha1")]


def test_a_dict_from_the_author_is_pruned_defaulted_and_named_after_the_kind(
    library: Library, server: InMemoryServer
) -> None:
    library.desk.gives = {"spec": {"text": "me", "secret": 1}}
    answer = server.request("POST", QUESTIONS, body=question())
    assert answer.json() == {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Question",
        "metadata": {},
        "spec": {"text": "me", "polite": True},
    }


def test_a_part_that_is_as_by_default_is_shown_all_the_same(library: Library, server: InMemoryServer) -> None:
    # A SubjectAccessReview that says no has a status (1.36.3: "status":{"allowed":false}).
    library.desk.gives = Question(spec=QuestionSpec(text="me"))
    assert server.request("POST", QUESTIONS, body=question()).json()["status"] == {"answer": "none"}


def test_an_author_who_returns_nothing_is_told_in_the_log_and_the_client_gets_500(server: InMemoryServer) -> None:
    class Silent:
        async def create(self, asked: RESTRequest, obj: Any) -> None:
            return None

    kind = Kind("Question", storage="v1", scope=CLUSTER, versions={"v1": Version(Question)}, rest=Silent())
    with serve(Api(Group(GROUP, kind))) as other:
        answer = other.request("POST", QUESTIONS, body=question())
    assert answer.status == 500
    assert "what serves questions gave no Question" in failure(answer)["message"]


def test_the_schema_and_the_strategy_refuse_with_all_errors_at_once(library: Library, server: InMemoryServer) -> None:
    answer = server.request("POST", QUESTIONS, body=question("tell me", polite="yes"))
    assert answer.status == 422
    assert failure(answer)["details"]["causes"] == [
        {
            "reason": "FieldValueTypeInvalid",
            "message": 'Invalid value: "string": spec.polite in body must be of type boolean: "string"',
            "field": "spec.polite",
        }
    ]
    answer = server.request("POST", QUESTIONS, body=question("tell me"))
    assert failure(answer)["message"] == (
        f'Question.{GROUP} "" is invalid: spec.text: Invalid value: "tell me": must be a question'
    )
    assert library.desk.asked == []


def test_the_strategy_prepares_and_warns(library: Library, server: InMemoryServer) -> None:
    answer = server.request("POST", QUESTIONS, body=question("hello", polite=False))
    assert answer.json()["spec"]["text"] == "hello?"
    assert "be polite" in answer.headers["warning"]


def test_admission_may_change_and_refuse_what_is_asked(library: Library, server: InMemoryServer) -> None:
    async def change(review: Review) -> None:
        review.object.spec.text = "changed?"

    async def refuse(review: Review) -> None:
        review.refuse("not today")

    library.plugin.on_mutate = change
    assert server.request("POST", QUESTIONS, body=question()).json()["spec"]["text"] == "changed?"
    assert library.plugin.seen == [("mutate", Operation.CREATE), ("validate", Operation.CREATE)]
    library.plugin.on_validate = refuse
    answer = server.request("POST", QUESTIONS, body=question())
    assert answer.status == 403
    assert failure(answer)["message"] == f'questions.{GROUP} "Unknown" is forbidden: not today'


def test_a_dry_run_is_told(library: Library, server: InMemoryServer) -> None:
    server.request("POST", QUESTIONS, {"dryRun": "All"}, body=question())
    assert library.desk.asked[0].dry_run


def test_a_namespaced_question_gets_the_namespace_of_the_path(library: Library, server: InMemoryServer) -> None:
    answer = server.request("POST", WHISPERS, body=question(kind="Whisper"))
    # As LocalSubjectAccessReview has it on 1.36.3.
    assert bare(answer)["metadata"] == {"namespace": "default"}
    assert library.desk.asked[0].namespace == "default"


def test_unknown_fields_are_refused_as_of_stored_kinds(server: InMemoryServer) -> None:
    answer = server.request("POST", QUESTIONS, {"fieldValidation": "Strict"}, body=question(loud=True))
    assert answer.status == 400
    assert 'unknown field "spec.loud"' in failure(answer)["message"]


def test_the_answer_comes_as_a_table_to_those_who_want_one(server: InMemoryServer) -> None:
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    table = server.request("POST", QUESTIONS, headers=accept, body=question(), user=ALICE).json()
    assert table["metadata"] == {}
    assert table["rows"][0]["cells"] == ["", "alice asks who?"]


def test_what_has_only_create_answers_only_that(server: InMemoryServer) -> None:
    assert server.request("GET", QUESTIONS).status == 405
    assert server.request("DELETE", QUESTIONS).status == 405
    resources = {one["name"]: one for one in server.request("GET", V1).json()["resources"]}
    assert resources["questions"]["verbs"] == ["create"]
    assert resources["bells"]["verbs"] == ["delete"]
    assert resources["books"]["verbs"] == ["delete", "deletecollection", "get", "list", "patch", "create", "update"]


# -- objects that an author keeps


def test_books_are_made_and_read(library: Library, server: InMemoryServer) -> None:
    answer = server.request("POST", BOOKS, body=book(pages=3))
    made = bare(answer)
    assert made["spec"] == {"pages": 3, "author": "unknown"}
    assert made["metadata"] == {"name": "b", "namespace": "default", "uid": "u-1", "resourceVersion": "1"}
    assert server.request("GET", f"{BOOKS}/b", user=ALICE).json() == answer.json()
    assert library.shelf.asked[-1] == ("get", RESTRequest(ALICE, "v1", "default", "b"))


def test_what_the_author_does_not_find_is_not_found(server: InMemoryServer) -> None:
    for method in ("GET", "PUT", "DELETE"):
        answer = server.request(method, f"{BOOKS}/none", body=book("none") if method == "PUT" else None)
        assert answer.status == 404
        assert failure(answer)["message"] == f'books.{GROUP} "none" not found'


def test_a_list_has_no_revision_and_passes_the_selectors(library: Library, server: InMemoryServer) -> None:
    library.shelf.books = {
        "a": {"metadata": {"name": "a", "namespace": "default", "labels": {"old": "yes"}}, "spec": {"author": "poe"}},
        "b": {"metadata": {"name": "b", "namespace": "default"}, "spec": {}},
    }

    def names(**query: str) -> list[str]:
        return [item["metadata"]["name"] for item in server.request("GET", BOOKS, query).json()["items"]]

    whole = server.request("GET", BOOKS, user=ALICE).json()
    assert whole["kind"] == "BookList"
    assert whole["metadata"] == {"continue": "", "resourceVersion": ""}
    assert [item["spec"]["author"] for item in whole["items"]] == ["poe", "unknown"]
    assert all(item["kind"] == "Book" and item["apiVersion"] == f"{GROUP}/v1" for item in whole["items"])
    assert library.shelf.asked[-1] == ("list", RESTRequest(ALICE, "v1", "default"))
    assert names(labelSelector="old=yes") == ["a"]
    assert names(fieldSelector="metadata.name=b") == ["b"]
    assert names(fieldSelector="spec.author=unknown") == ["b"]
    assert names(fieldSelector="metadata.namespace!=default") == []
    table = server.request("GET", BOOKS, headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}).json()
    assert len(table["rows"]) == 2


def test_updates_reach_the_author_by_put_and_patch(library: Library, server: InMemoryServer) -> None:
    made = server.request("POST", BOOKS, body=book(pages=3)).json()
    changed = server.request("PUT", f"{BOOKS}/b", body={**made, "spec": {"pages": 4}}).json()
    assert changed["spec"] == {"pages": 4, "author": "unknown"}
    assert changed["metadata"]["resourceVersion"] == "2"
    patched = server.request(
        "PATCH",
        f"{BOOKS}/b",
        {"dryRun": "All"},
        {"Content-Type": "application/merge-patch+json"},
        {"spec": {"pages": 5}},
    )
    assert patched.json()["spec"]["pages"] == 5
    assert library.shelf.asked[-1][1].dry_run
    assert library.shelf.books["b"]["spec"]["pages"] == 4
    stale = server.request("PUT", f"{BOOKS}/b", body=made)
    assert stale.status == 409
    assert "the object has been modified" in failure(stale)["message"]
    bad = server.request("PUT", f"{BOOKS}/b", body={**changed, "spec": {"pages": "many"}})
    assert bad.status == 422


def applied(server: InMemoryServer, manager: str, path: str = f"{BOOKS}/b", *, force: bool = False, **spec: Any) -> Any:
    """The answer to an apply of a book."""
    query = {"fieldManager": manager, **({"force": "true"} if force else {})}
    obj = book(path.rpartition("/")[2], **spec)
    return server.request("PATCH", path, query, {"Content-Type": "application/apply-patch+yaml"}, obj)


def managers(answer: Any) -> dict[tuple[str, str], Any]:
    """What each manager has of the spec, by its name and operation."""
    entries = answer.json()["metadata"].get("managedFields", ())
    return {(entry["manager"], entry["operation"]): set(entry["fieldsV1"].get("f:spec", ())) for entry in entries}


def test_what_an_author_keeps_is_applied_like_what_is_stored(library: Library, server: InMemoryServer) -> None:
    """Behaviour E64-E69: created, shared, taken over, given up."""
    created = applied(server, "a", pages=3)
    assert created.status == 201
    assert [verb for verb, _ in library.shelf.asked] == ["get", "create"]
    assert managers(created) == {("a", "Apply"): {"f:pages"}}
    assert created.json()["spec"] == {"pages": 3, "author": "unknown"}
    conflict = applied(server, "b", pages=4, author="poe")
    assert failure(conflict)["message"] == 'Apply failed with 1 conflict: conflict with "a": .spec.pages'
    forced = applied(server, "b", pages=4, author="poe", force=True)
    assert forced.status == 200
    assert managers(forced) == {("b", "Apply"): {"f:pages", "f:author"}}
    assert server.request("GET", f"{BOOKS}/b").json() == forced.json()
    given_up = applied(server, "b", author="poe")
    assert given_up.json()["spec"] == {"author": "poe"}
    merge = {"Content-Type": "application/merge-patch+json"}
    patched = server.request("PATCH", f"{BOOKS}/b", {"fieldManager": "u"}, merge, {"spec": {"author": "me"}})
    assert managers(patched) == {("u", "Update"): {"f:author"}}


def test_who_keeps_no_managers_has_them_forgotten(library: Library, server: InMemoryServer) -> None:
    """As in k8s.io/apiserver, whose ``before-first-apply`` manages what an object without managers has."""

    class Forgetful(Shelf):
        async def create(self, asked: RESTRequest, obj: dict[str, Any]) -> Any:
            obj["metadata"].pop("managedFields")
            return await super().create(asked, obj)

        async def update(self, asked: RESTRequest, obj: dict[str, Any]) -> Any:
            obj["metadata"].pop("managedFields", None)
            return await super().update(asked, obj)

    library.shelf.__class__ = Forgetful
    assert applied(server, "a", pages=3).status == 201
    same = applied(server, "a", pages=3)
    assert (same.status, managers(same)) == (200, {})
    conflict = applied(server, "a", pages=4)
    assert (conflict.status, failure(conflict)["message"]) == (
        409,
        f'Apply failed with 1 conflict: conflict with "before-first-apply" using {GROUP}/v1: .spec.pages',
    )
    forced = applied(server, "a", pages=4, force=True)
    assert forced.json()["spec"]["pages"] == 4


def test_an_apply_of_what_cannot_be_created_needs_the_object(library: Library) -> None:
    """Also of a subresource, and of the object that a subresource belongs to."""

    class Reader:
        def __init__(self) -> None:
            self.books: dict[str, Any] = {}

        async def get(self, asked: RESTRequest) -> Any:
            return self.books.get(asked.name)

        async def update(self, asked: RESTRequest, obj: dict[str, Any]) -> Any:
            self.books[asked.name] = obj
            return obj

    reader, part = Reader(), Reader()
    versions = {"v1": Version(BOOK)}
    cover = Kind("Book", storage="v1", versions=versions, subresources={"cover": Subresource(rest=part)})
    api = Api(
        Group(GROUP, cover), Group("read.example.com", Kind("Book", storage="v1", versions=versions, rest=reader))
    )
    with serve(api) as server:
        path = "/apis/read.example.com/v1/namespaces/default/books/b"
        form, query = {"Content-Type": "application/apply-patch+yaml"}, {"fieldManager": "m"}
        body = {**book(pages=1), "apiVersion": "read.example.com/v1"}
        assert server.request("PATCH", path, query, form, body).status == 404
        reader.books["b"] = {"metadata": {"name": "b", "namespace": "default"}}
        assert managers(server.request("PATCH", path, query, form, body)) == {("m", "Apply"): {"f:pages"}}
        assert applied(server, "m", f"{BOOKS}/b/cover").status == 404
        server.request("POST", BOOKS, body=book())
        assert server.request("PATCH", f"{BOOKS}/b/cover", query, form, book(pages=2)).status == 404
        part.books["b"] = {"metadata": {"name": "b", "namespace": "default"}}
        answer = server.request("PATCH", f"{BOOKS}/b/cover", query, form, book(pages=2))
        assert managers(answer) == {("m", "Apply"): {"f:pages"}}
        assert answer.json()["metadata"]["managedFields"][0]["subresource"] == "cover"


def test_openapi_lists_an_apply_where_one_works(server: InMemoryServer) -> None:
    """As for every rest.Patcher; what cannot be updated has no PATCH, so that an apply is 405."""
    paths = server.request("GET", f"/openapi/v3/apis/{GROUP}/v1").json()["paths"]
    named = f"/apis/{GROUP}/v1/namespaces/{{namespace}}/books/{{name}}"
    assert "application/apply-patch+yaml" in paths[named]["patch"]["requestBody"]["content"]
    assert "patch" not in paths[f"/apis/{GROUP}/v1/bells/{{name}}"]
    assert applied(server, "a", f"{V1}/bells/b").status == 405


def test_managers_that_a_plugin_has_broken_are_restored(library: Library, server: InMemoryServer) -> None:
    """Behaviour E70."""

    async def broken(review: Review) -> None:
        review.object["metadata"]["managedFields"] = [{"operation": "Guess"}]

    library.plugin.on_mutate = broken
    for answer in (applied(server, "a", pages=3), applied(server, "a", pages=4)):
        assert managers(answer) == {("a", "Apply"): {"f:pages"}}
        assert "was in an invalid state after admission" in answer.headers["warning"]


def test_no_plugin_renames_what_is_written_by_its_name(library: Library, server: InMemoryServer) -> None:
    """An author may store an object under whatever name it has."""

    async def rename(review: Review) -> None:
        review.object["metadata"]["name"] = "other"

    server.request("POST", BOOKS, body=book("other", pages=1))
    library.plugin.on_mutate = rename
    created = applied(server, "a", pages=3)
    library.plugin.on_mutate = None
    server.request("POST", BOOKS, body=book(pages=1))
    library.plugin.on_mutate = rename
    merge = {"Content-Type": "application/merge-patch+json"}
    patched = server.request("PATCH", f"{BOOKS}/b", headers=merge, body={"spec": {"pages": 3}})
    for refused in (created, applied(server, "a", pages=3, force=True), patched):
        why = "the name of the object (other) does not match the name on the URL (b)"
        assert (refused.status, failure(refused)["message"]) == (400, why)
    assert {name: obj["spec"]["pages"] for name, obj in library.shelf.books.items()} == {"other": 1, "b": 1}


def test_a_delete_tells_that_the_object_is_gone_or_what_is_left(library: Library, server: InMemoryServer) -> None:
    server.request("POST", BOOKS, body=book())
    library.shelf.stays = True
    server.request("DELETE", f"{BOOKS}/b", {"dryRun": "All"})
    assert [(verb, asked.dry_run) for verb, asked in library.shelf.asked[-2:]] == [("get", False), ("delete", True)]
    left = server.request("DELETE", f"{BOOKS}/b")
    assert (left.status, left.json()["kind"]) == (200, "Book")
    library.shelf.stays = False
    wrong = server.request("DELETE", f"{BOOKS}/b", body={"preconditions": {"uid": "other"}})
    assert wrong.status == 409
    gone = server.request("DELETE", f"{BOOKS}/b")
    assert gone.json()["details"] == {"name": "b", "group": GROUP, "kind": "books", "uid": "u-1"}
    assert library.plugin.seen[-2:] == [("mutate", Operation.DELETE), ("validate", Operation.DELETE)]
    assert library.shelf.books == {}


def test_a_collection_is_deleted_one_by_one(library: Library, server: InMemoryServer) -> None:
    for name in ("a", "b"):
        server.request("POST", BOOKS, body=book(name))
    assert server.request("DELETE", BOOKS).status == 200
    assert library.shelf.books == {}


def test_what_can_only_be_deleted_needs_no_get(library: Library, server: InMemoryServer) -> None:
    assert server.request("DELETE", f"{V1}/bells/big").status == 200
    assert library.bell.gone == ["big"]


# -- subresources


def ticket(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "tickets.example.com/v2", "kind": "Ticket", **more}


def a_show(server: InMemoryServer, name: str = "hamlet") -> str:
    shows = f"{V1}/namespaces/default/shows"
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Show", "metadata": {"name": name}}
    assert server.request("POST", shows, body=body).status == 201
    return f"{shows}/{name}/ticket"


def test_a_subresource_speaks_its_own_kind_and_knows_the_name_in_the_path(
    library: Library, server: InMemoryServer
) -> None:
    path = a_show(server)
    answer = server.request("POST", path, {"dryRun": "All"}, body=ticket(spec={"seats": 2}), user=ALICE)
    assert answer.status == 201
    (entry,) = answer.json()["metadata"]["managedFields"]
    assert (entry["apiVersion"], entry["subresource"]) == ("tickets.example.com/v2", "ticket")
    assert entry["fieldsV1"] == {"f:spec": {".": {}, "f:seats": {}}}
    assert bare(answer) == {
        "apiVersion": "tickets.example.com/v2",
        "kind": "Ticket",
        "metadata": {"name": "hamlet", "namespace": "default"},
        "spec": {"seats": 2},
        "status": {"code": "default/hamlet/2"},
    }
    assert library.counter.asked == [RESTRequest(ALICE, "v1", "default", "hamlet", dry_run=True)]


def test_admission_sees_a_subresource_as_of_its_parent(library: Library, server: InMemoryServer) -> None:
    path = a_show(server)
    server.request("POST", path, body=ticket())
    review = library.plugin.reviews[-1]
    assert (review.group, review.resource, review.subresource, review.name) == (GROUP, "shows", "ticket", "hamlet")
    assert review.kind.name == "Ticket"


def test_a_missing_parent_is_not_found(library: Library, server: InMemoryServer) -> None:
    path = a_show(server).replace("hamlet", "lear")
    answer = server.request("POST", path, body=ticket())
    # 1.36.3: serviceaccounts "nobody" not found
    assert answer.status == 404
    assert failure(answer)["message"] == f'shows.{GROUP} "lear" not found'
    assert library.counter.asked == []


def test_the_errors_of_a_subresource_name_its_kind_and_the_name_in_the_path(server: InMemoryServer) -> None:
    answer = server.request("POST", a_show(server), body=ticket(spec={"seats": "two"}))
    assert answer.status == 422
    assert failure(answer)["message"].startswith('Ticket.tickets.example.com "hamlet" is invalid: spec.seats')


def test_a_body_of_another_kind_is_refused(server: InMemoryServer) -> None:
    answer = server.request("POST", a_show(server), body={**ticket(), "apiVersion": f"{GROUP}/v1"})
    assert answer.status == 400


def test_only_the_methods_that_are_there_answer(server: InMemoryServer) -> None:
    assert server.request("GET", a_show(server)).status == 405


def test_a_subresource_without_a_kind_speaks_that_of_its_parent() -> None:
    class Peek:
        async def get(self, asked: RESTRequest) -> Any:
            return {"metadata": {"name": asked.name}, "spec": {"pages": 7}}

    kind = Kind(
        "Book",
        storage="v1",
        versions={"v1": Version(BOOK)},
        rest=Shelf(),
        subresources={"peek": Subresource(rest=Peek())},
    )
    with serve(Api(Group(GROUP, kind))) as server:
        found = server.request("GET", f"{BOOKS}/x/peek").json()
    assert (found["kind"], found["spec"]) == ("Book", {"pages": 7, "author": "unknown"})


def test_what_a_subresource_speaks_is_a_kind_of_the_versions_of_its_parent_unless_it_says_which() -> None:
    served = ServedKind(Kind("Show", storage="v1", versions={"v1": Version({"type": "object"})}), GROUP)
    own = subresource_kind(served, Subresource(rest=Counter(), kind="Ticket", type=Ticket))
    assert (own.group, list(own.versions)) == (GROUP, ["v1"])


# -- mistakes of authors


def test_what_an_author_refuses_reaches_the_client(library: Library) -> None:
    class Closed:
        async def create(self, asked: RESTRequest, obj: Any) -> Any:
            raise ApiError("come back tomorrow")

    kind = Kind("Question", storage="v1", scope=CLUSTER, versions={"v1": Version(Question)}, rest=Closed())
    with serve(Api(Group(GROUP, kind))) as server:
        assert failure(server.request("POST", QUESTIONS, body=question()))["message"] == "come back tomorrow"
