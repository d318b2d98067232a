"""From what a request asks for to what authorization is asked about (``GetAuthorizerAttributes``)."""

from __future__ import annotations

from extapi.api.requestselectors import Selectors
from extapi.authorization.base import Attributes
from extapi.listener.call import RequestInfo


def attributes_of(info: RequestInfo, selectors: Selectors | None = None) -> Attributes:
    """The attributes of a request; ``selectors``: where it has some."""
    if not info.is_resource:
        return Attributes(info.verb, info.path)
    return Attributes(
        info.verb,
        info.path,
        is_resource=True,
        group=info.group,
        version=info.version,
        namespace=info.namespace,
        resource=info.resource,
        subresource=info.subresource,
        name=info.name,
        selectors=selectors,
    )
