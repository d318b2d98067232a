"""A whole list, read page by page: smaller pages if the server's answers are too large or too slow, one page if history is gone.

Must not know what the objects mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from extapi.client.kube import Client, Obj, ResourceName, items_of
from extapi.client.transport import AnswerTooLong
from extapi.errors import Expired

PAGE: Final = 500
"""Objects per page (``k8s.io/client-go/tools/pager``)."""


class Pages:
    """Reads lists of one collection. What a page may have is remembered from one list to the next.

    Args:
        client: The client.
        resource: The collection.
        namespace: The namespace; empty for all.
        query: Further parameters, such as selectors.
    """

    def __init__(self, client: Client, resource: ResourceName, namespace: str, query: Mapping[str, str]) -> None:
        self._client = client
        self._resource = resource
        self._namespace = namespace
        self._query = query
        self._size = PAGE

    async def read(self, limit: int = 0, *, arrived: Callable[[], None] = lambda: None) -> tuple[list[Obj], str]:
        """The objects, and the resourceVersion of the list.

        All pages show the same state. If reading takes longer than the server keeps its history, the list is read again in a
        single page.

        Args:
            limit: How many objects at most, the first ones; 0: all.
            arrived: Called for each page.

        Raises:
            ApiError: The server refuses.
            TransportError: There was no answer, or it was too large even with one object per page.

        Source: ``k8s.io/client-go/tools/pager`` ListPager.List.
        """
        found: list[Obj] = []
        token = ""
        while True:
            try:
                page = await self._page(token, limit - len(found) if limit else 0)
            except Expired:
                if not token:
                    raise
                page, found = await self._client.list(self._resource, namespace=self._namespace, query=self._query), []
            arrived()
            found += items_of(page)
            metadata: Mapping[str, Any] = page.get("metadata") or {}
            token = str(metadata.get("continue") or "")
            if not token or (limit and len(found) >= limit):
                return found[:limit] if limit else found, str(metadata.get("resourceVersion") or "")

    async def _page(self, token: str, left: int) -> Obj:
        """One page; if it is too much for one answer, the next one has half as many objects. A token is good for any number."""
        while True:
            size = min(self._size, left) if left else self._size
            query = {**self._query, "limit": str(size), **({"continue": token} if token else {})}
            try:
                return await self._client.list(self._resource, namespace=self._namespace, query=query)
            except AnswerTooLong:
                if size == 1:
                    raise
                self._size = size // 2
