"""Requests made by the grammar of the Kubernetes API: paths, methods, options and headers, each of them bent now and then.

What the answers were so far lets a request continue a list, update an object that is there, or delete it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import quote

from tests.attack.fuzz import bodies, framing, managed, texts, values
from tests.attack.fuzz.api import RESOURCES, Served
from tests.attack.fuzz.bodies import NAMES, NAMESPACES
from tests.attack.fuzz.headers import AGENTS, accept, identity, odd_headers
from tests.attack.fuzz.requests import Memory, Request
from tests.attack.fuzz.spellings import (
    APPLY,
    JSON_PATCH,
    MERGE_PATCH,
    METHODS,
    bent,
    escaped,
    field_selector,
    label_selector,
)


class Generator:
    """Makes requests of dice. ``applies``: how many of them apply, beside a hundred that do not."""

    def __init__(self, dice: Random, memory: Memory, *, applies: int = 15) -> None:
        self._dice = dice
        self._applies = applies
        self._memory = memory

    def request(self) -> Request:
        """The next one."""
        dice = self._dice
        kind = dice.random()
        if kind < 0.80:
            made = self._resource()
        elif kind < 0.88:
            made = self._document()
        else:
            made = self._odd()
        if dice.random() < 0.06 and made.method != "HEAD":
            return Request(
                made.peer, made.method, made.target, made.headers, made.body,
                mangled=framing.mangled(dice, made.method, made.target, made.headers, made.body),
            )  # fmt: skip
        return made

    # -- requests on resources

    def _resource(self) -> Request:
        dice = self._dice
        served = dice.choice(RESOURCES)
        action: Callable[[Served], Request] = dice.choices(
            (
                self._create,
                self._get,
                self._list,
                self._update,
                self._patch,
                self._delete,
                self._collection,
                self._watch,
                self._apply,
            ),
            (30, 12, 14, 12, 20, 8, 2, 6, self._applies),
        )[0]
        return action(served)

    def _place(self, served: Served, name: str = "", *, namespace: str | None = None) -> str:
        dice = self._dice
        path = f"/apis/{served.group}/{served.version}"
        if served.namespaced:
            path += f"/namespaces/{namespace if namespace is not None else self._namespace()}"
        path += f"/{served.plural}"
        if name:
            path += "/" + (name if dice.random() < 0.9 else quote(name, safe=""))
        return path

    def _namespace(self) -> str:
        return self._dice.choices(NAMESPACES, (50, 30, 10, 3, 3))[0]

    def _name(self) -> str:
        dice = self._dice
        return (
            dice.choice(NAMES)
            if dice.random() < 0.93
            else quote(values.text(dice)[:60].encode("utf-8", "replace"), safe="")
        )

    def _create(self, served: Served) -> Request:
        dice = self._dice
        sub = ""
        if served.plural == "everythings" and dice.random() < 0.1:
            sub = "/act"
        namespace = self._namespace()
        path = self._place(served, self._name() if sub else "", namespace=namespace) + sub
        if sub:
            quotes = next(one for one in RESOURCES if one.plural == "quotes")
            content = bodies.obj(
                dice, Served(served.group, served.version, "", "Quote", quotes.schema), "n0", namespace
            )
        else:
            name = dice.choice(NAMES) if dice.random() < 0.9 else ""
            content = bodies.obj(dice, served, name, namespace)
        if dice.random() < 0.1:
            content = managed.with_entries(dice, served, content)
        return self._write("POST", path, served, content)

    def _write(self, method: str, path: str, served: Served, content: Any) -> Request:
        """With a body in JSON or YAML."""
        dice = self._dice
        kind = dice.random()
        media = "application/json"
        if kind < 0.75:
            body = texts.to_json(content)
        elif kind < 0.97:
            body, media = texts.to_yaml(dice, content), "application/yaml"
        else:
            body = texts.encoded_otherwise(dice, texts.to_json(content))
        if dice.random() < 0.06:
            body = texts.damaged(dice, body)
        if dice.random() < 0.0005:
            body = (
                body[:-1] + b" " * dice.choice((3 << 20, (3 << 20) - len(body), (3 << 20) - len(body) + 1)) + body[-1:]
            )
        if dice.random() < 0.04:
            media = dice.choice(
                ("", "text/plain", "application/json; charset=utf-8", "application/json;", "APPLICATION/JSON", "application/vnd.kubernetes.protobuf",
                 "application/cbor", "multipart/form-data; boundary=x", "application/json, application/yaml", "application/yaml;q=1", ";", "a" * 2000,
                 "application/x-www-form-urlencoded", MERGE_PATCH)
            )  # fmt: skip
        return self._made(method, path, self._options("write"), body, media, served)

    def _get(self, served: Served) -> Request:
        sub = self._dice.choice(served.subresources) if served.subresources and self._dice.random() < 0.2 else ""
        path = self._place(served, self._name()) + (f"/{sub}" if sub else "")
        return self._made(self._dice.choice(("GET", "GET", "GET", "HEAD")), path, self._options("get"), served=served)

    def _list(self, served: Served) -> Request:
        across = self._dice.random() < 0.2
        path = f"/apis/{served.group}/{served.version}/{served.plural}" if across else self._place(served)
        return self._made(
            self._dice.choice(("GET", "GET", "GET", "GET", "HEAD")), path, self._options("list"), served=served
        )

    def _watch(self, served: Served) -> Request:
        dice = self._dice
        path = self._place(served)
        options = self._options("watch")
        if dice.random() < 0.2:
            path = path.replace(f"/{served.version}/", f"/{served.version}/watch/", 1)
            if dice.random() < 0.3:
                path += "/" + self._name()
        else:
            options.append(("watch", dice.choice(("true", "1", "", "yes", "False", "0"))))
        return self._made("GET", path, options, served=served)

    def _update(self, served: Served) -> Request:
        dice = self._dice
        kept = [key for key in self._memory.objects if key[0] == served.plural]
        if not kept or dice.random() < 0.2:
            name, namespace = self._name(), self._namespace()
            return self._write(
                "PUT", self._place(served, name, namespace=namespace), served, bodies.obj(dice, served, name, namespace)
            )
        key = kept[-1 - min(len(kept) - 1, int(dice.expovariate(0.5)))]
        old = self._memory.objects[key]
        content: Any = {**old, "apiVersion": served.api_version}
        if dice.random() < 0.7 and isinstance(content.get("spec"), dict):
            changed = bodies.valid(dice, served.schema)
            content = {**content, **{part: item for part, item in changed.items() if dice.random() < 0.8}}
        if dice.random() < 0.4:
            content = bodies.mutated(dice, content, served.schema)
        if dice.random() < 0.15:
            content = managed.with_entries(dice, served, content)
        sub = "/" + dice.choice(served.subresources) if served.subresources and dice.random() < 0.4 else ""
        if sub == "/scale" and dice.random() < 0.8:
            content = managed.scale(dice, served, key[2], key[1])
        return self._write("PUT", self._place(served, key[2], namespace=key[1]) + sub, served, content)

    def _patch(self, served: Served) -> Request:
        dice = self._dice
        kept = [key for key in self._memory.objects if key[0] == served.plural]
        if kept and dice.random() < 0.85:
            key = dice.choice(kept)
            path = self._place(served, key[2], namespace=key[1])
        else:
            path = self._place(served, self._name())
        if served.subresources and dice.random() < 0.25:
            path += "/" + dice.choice(served.subresources)
        kind = dice.random()
        if kind < 0.45:
            media, content = JSON_PATCH, bodies.json_patch(dice)
            if dice.random() < 0.2:
                content = managed.json_patch(dice, served)
        elif kind < 0.92:
            media, content = MERGE_PATCH, bodies.merge_patch(dice, served)
            if dice.random() < 0.1:
                content = {"metadata": {"managedFields": managed.entries(dice, served)}}
            elif path.endswith("/scale") and dice.random() < 0.5:
                content = {"spec": {"replicas": dice.choice((0, 1, 2, values.scalar(dice)))}}
        else:
            media = dice.choice(
                (
                    "application/strategic-merge-patch+json",
                    "application/apply-patch+yaml",
                    "application/json",
                    "",
                    "application/yaml",
                )
            )
            content = bodies.merge_patch(dice, served)
        body = texts.to_json(content)
        if dice.random() < 0.05:
            body = texts.damaged(dice, body)
        return self._made("PATCH", path, self._options("patch"), body, media, served)

    def _apply(self, served: Served) -> Request:
        """By a few managers, to what is there or to what is not, in YAML or JSON."""
        dice = self._dice
        kept = [key for key in self._memory.objects if key[0] == served.plural]
        live = None
        name, namespace = dice.choice(NAMES), self._namespace()
        if kept and dice.random() < 0.7:
            key = dice.choice(kept)
            live, name, namespace = self._memory.objects[key], key[2], key[1]
        path, sub = self._place(served, name, namespace=namespace), ""
        if served.subresources and dice.random() < 0.25:
            sub = dice.choice(served.subresources)
            path += f"/{sub}"
        content = managed.configuration(dice, served, name, namespace, live, sub)
        body = texts.to_json(content) if dice.random() < 0.6 else texts.to_yaml(dice, content)
        if dice.random() < 0.06:
            body = texts.damaged(dice, body)
        options = [("fieldManager", dice.choice(managed.MANAGERS))]
        if dice.random() < 0.5:
            options.append(("force", "true"))
        if dice.random() < 0.2:
            options.append(("fieldValidation", dice.choice(("Strict", "Warn", "Ignore"))))
        if dice.random() < 0.1:
            options.append(("dryRun", "All"))
        return self._made("PATCH", path, options, body, APPLY, served)

    def _delete(self, served: Served) -> Request:
        dice = self._dice
        kept = [key for key in self._memory.objects if key[0] == served.plural]
        if kept and dice.random() < 0.8:
            key = dice.choice(kept)
            path = self._place(served, key[2], namespace=key[1])
        else:
            path = self._place(served, self._name())
        return self._deletion(path, served, "delete")

    def _collection(self, served: Served) -> Request:
        return self._deletion(self._place(served), served, "deletecollection")

    def _deletion(self, path: str, served: Served, verb: str) -> Request:
        dice = self._dice
        body, media = b"", ""
        if dice.random() < 0.4:
            body, media = (
                texts.to_json(bodies.delete_options(dice)),
                dice.choice(("application/json", "application/json", "application/yaml", "")),
            )
            if dice.random() < 0.1:
                body = texts.damaged(dice, body)
        return self._made("DELETE", path, self._options(verb), body, media, served)

    # -- other paths

    def _document(self) -> Request:
        dice = self._dice
        served = dice.choice(RESOURCES)
        path = dice.choice(
            ("/", "/api", "/api/v1", "/apis", f"/apis/{served.group}", f"/apis/{served.group}/{served.version}", "/version", "/healthz",
             "/readyz", "/livez", "/readyz/storage", "/livez/ping", "/healthz/nothing", "/openapi/v2", "/openapi/v3",
             f"/openapi/v3/apis/{served.group}/{served.version}", "/openapi/v3/apis/x/v1", "/index.html", "/metrics", "/swagger.json", "/favicon.ico")
        )  # fmt: skip
        options = []
        if dice.random() < 0.3:
            options = [
                (
                    dice.choice(("verbose", "exclude", "hash", "pretty", "timeout", "x")),
                    dice.choice(("", "1", "storage", values.text(dice))),
                )
            ]
        method = "GET" if dice.random() < 0.8 else dice.choice(METHODS[:7])
        return self._made(method, path + ("/" if dice.random() < 0.1 else ""), options)

    def _odd(self) -> Request:
        """A path that is bent, or made of its parts in any order."""
        dice = self._dice
        served = dice.choice(RESOURCES)
        if dice.random() < 0.6:
            path = bent(dice, self._place(served, dice.choice((self._name(), ""))))
        else:
            parts = [
                dice.choice(
                    ("apis", "api", served.group, served.version, "watch", "proxy", "namespaces", self._namespace(), served.plural, self._name(),
                     "status", "notes", "act", "", ".", "..", "%2e%2e", "%2F", "%00", "%", "*", "scale", "finalize", "v1", "\u00e9", "a b", "%c0%ae", "?", "#")
                )
                for _ in range(dice.randrange(9))
            ]  # fmt: skip
            path = "/" + "/".join(parts)
        method = dice.choice(METHODS if dice.random() < 0.2 else METHODS[:6])
        body = (
            texts.to_json(bodies.obj(dice, served, "n1", "a"))
            if method in ("POST", "PUT", "PATCH") and dice.random() < 0.7
            else b""
        )
        return self._made(method, path, self._options("list"), body, dice.choice(("application/json", JSON_PATCH, "")))

    # -- options and headers

    def _options(self, verb: str) -> list[tuple[str, str]]:
        dice = self._dice
        options: list[tuple[str, str]] = []

        def sometimes(share: float, name: str, value: Callable[[], str]) -> None:
            if dice.random() < share:
                options.append((name, value() if dice.random() < 0.9 else values.text(dice)))

        selects = verb in ("list", "watch", "deletecollection")
        if selects:
            sometimes(0.25, "labelSelector", lambda: label_selector(dice))
            sometimes(0.2, "fieldSelector", lambda: field_selector(dice))
            sometimes(0.2, "limit", lambda: dice.choice(("1", "2", "500", "0", "-1", str(values.number(dice)))))
            sometimes(0.12, "continue", self._continue)
            sometimes(0.15, "resourceVersionMatch", lambda: dice.choice(("Exact", "NotOlderThan", "", "exact")))
        if selects or verb == "get":
            sometimes(0.2, "resourceVersion", self._revision)
        if verb == "watch":
            sometimes(0.7, "timeoutSeconds", lambda: dice.choice(("1", "2", "0", "-1", str(values.number(dice)))))
            sometimes(0.2, "allowWatchBookmarks", lambda: dice.choice(("true", "1", "")))
            sometimes(0.2, "sendInitialEvents", lambda: dice.choice(("true", "false", "")))
        if verb in ("write", "patch", "delete", "deletecollection"):
            sometimes(0.1, "dryRun", lambda: dice.choice(("All", "All", "", "all", "None")))
        if verb in ("write", "patch"):
            sometimes(0.3, "fieldValidation", lambda: dice.choice(("Strict", "Warn", "Ignore", "")))
            sometimes(0.1, "fieldManager", lambda: dice.choice(("me", "m" * 128, "m" * 129)))
            sometimes(0.03, "force", lambda: dice.choice(("true", "false", "")))
        if verb in ("delete", "deletecollection"):
            sometimes(0.1, "propagationPolicy", lambda: dice.choice(("Background", "Orphan", "Foreground", "x")))
            sometimes(0.1, "gracePeriodSeconds", lambda: dice.choice(("0", "1", "-1", str(values.number(dice)))))
            sometimes(0.03, "orphanDependents", lambda: dice.choice(("true", "false")))
        sometimes(0.1, "includeObject", lambda: dice.choice(("None", "Metadata", "Object", "all")))
        sometimes(0.05, "pretty", lambda: dice.choice(("true", "1", "0", "")))
        sometimes(
            0.04,
            "timeout",
            lambda: dice.choice(("1s", "10s", "0", "-1s", "1ns", "9" * 30 + "h", values.worst(dice, "duration"))),
        )
        sometimes(0.03, values.text(dice)[:40], lambda: values.text(dice))
        if options and dice.random() < 0.06:
            options.append((options[0][0], values.text(dice)))
        if dice.random() < 0.002:
            options += [(f"x{number}", "1") for number in range(dice.choice((900, 1000, 1001)))]
        return options

    def _revision(self) -> str:
        dice = self._dice
        current = self._memory.revision
        return dice.choice(
            ("0", "1", "", current, current, str(int(current) - 3), str(int(current) + 1), "99999999999999999999", "18446744073709551615", "-1", "01",
             "1.0", "0x1", " 1", "+1", "\u0661", str(values.number(dice)))
        )  # fmt: skip

    def _continue(self) -> str:
        dice = self._dice
        if self._memory.tokens and dice.random() < 0.6:
            token = dice.choice(self._memory.tokens[-20:])
            return (
                token
                if dice.random() < 0.7
                else token[: dice.randrange(len(token) + 1)] + dice.choice(("", "=", "A", "%"))
            )
        inside: Any = {
            "v": "meta.k8s.io/v1",
            "rv": dice.choice((1, -1, 0, 2**63, "1", None, 1.5)),
            "start": dice.choice(("a/n1\u0000", "", "../x", "/", values.text(dice))),
        }
        if dice.random() < 0.3:
            inside = values.anything(dice)
        return base64.urlsafe_b64encode(texts.to_json(inside)).decode().rstrip("=" if dice.random() < 0.8 else "")

    def _made(
        self,
        method: str,
        path: str,
        options: list[tuple[str, str]],
        body: bytes = b"",
        media: str = "",
        served: Served | None = None,
    ) -> Request:
        dice = self._dice
        query = "&".join(f"{escaped(dice, name)}={escaped(dice, value)}" for name, value in options)
        target = path.encode("utf-8", "replace").decode("latin-1")
        target = "".join(char if "!" <= char <= "~" else quote(char.encode("latin-1")) for char in target)
        if query:
            target += "?" + query
        peer, headers = identity(dice)
        if media:
            headers.append(("Content-Type", media))
        if dice.random() < 0.22:
            headers.append(("Accept", accept(dice)))
        if dice.random() < 0.1:
            headers.append(("User-Agent", dice.choice(AGENTS)))
        if dice.random() < 0.08:
            headers += odd_headers(dice)
        return Request(peer, method, target, headers, body, served=served)
