"""URLs: ``url``, ``isURL`` and their parts. In all versions of Kubernetes.

Source: ``k8s.io/apiserver/pkg/cel/library`` urls.go.
"""

from __future__ import annotations

from typing import ClassVar, Final

from extapi.schema.cel.declarations import Overload, overload
from extapi.schema.cel.errors import EvaluationError
from extapi.schema.cel.library.charges import walk, walk_estimate
from extapi.schema.cel.library.neturl import ParsedURL, URLError, parse_url, text_of, uri_problem
from extapi.schema.cel.types import URL as URL_TYPE, Type
from extapi.schema.cel.values.equality import NO_SUCH_OVERLOAD


class URL:
    """A URL. Two are equal if they are written the same way."""

    __slots__ = ("parts",)
    cel_type: ClassVar[Type] = URL_TYPE

    def __init__(self, parts: ParsedURL) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, URL):
            raise EvaluationError(NO_SUCH_OVERLOAD)
        return str(self.parts) == str(other.parts)

    def __hash__(self) -> int:
        return hash(str(self.parts))

    def __str__(self) -> str:
        return str(self.parts)


def make_url(text: str) -> URL:
    """Read an absolute URL or an absolute path.

    Raises:
        EvaluationError: It is none.
    """
    problem = uri_problem(text)
    if problem is None:
        # Go reads it twice, because the stricter way takes a fragment for a part of the path or the query.
        try:
            return URL(parse_url(text))
        except URLError as error:
            problem = str(error)
    raise EvaluationError(f"URL parse error during conversion from string: {problem}")


def _is_url(text: str) -> bool:
    return uri_problem(text) is None


def _scheme(url: URL) -> str:
    return url.parts.scheme


def _host(url: URL) -> str:
    return text_of(url.parts.host)


def _hostname(url: URL) -> str:
    return url.parts.hostname_and_port()[0]


def _port(url: URL) -> str:
    return url.parts.hostname_and_port()[1]


def _escaped_path(url: URL) -> str:
    return url.parts.escaped_path()


def _query(url: URL) -> dict[str, list[str]]:
    return url.parts.query()


URLS: Final[tuple[Overload, ...]] = (
    overload("string_to_url", "url(string) -> url", make_url, cost=walk(), estimate=walk_estimate(sized=True)),
    overload("url_get_scheme", ".getScheme(url) -> string", _scheme),
    overload("url_get_host", ".getHost(url) -> string", _host),
    overload("url_get_hostname", ".getHostname(url) -> string", _hostname),
    overload("url_get_port", ".getPort(url) -> string", _port),
    overload("url_get_escaped_path", ".getEscapedPath(url) -> string", _escaped_path),
    overload("url_get_query", ".getQuery(url) -> map(string, list(string))", _query),
    overload("is_url_string", "isURL(string) -> bool", _is_url),
)
