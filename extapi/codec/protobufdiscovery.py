"""Discovery documents in protobuf.

Source: ``generated.proto`` of ``apimachinery/pkg/apis/meta/v1`` and of ``k8s.io/api/apidiscovery/v2``; v2beta1 has the same
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extapi.codec.protobufmeta import META
from extapi.codec.protobuftable import read_table
from extapi.codec.protobufwriting import message_bytes, wrap

__all__ = ["discovery_bytes"]

_MESSAGES = read_table(
    META
    + """
APIVersions: 1 versions []string; 2 serverAddressByClientCIDRs []ServerAddressByClientCIDR
ServerAddressByClientCIDR: 1 clientCIDR; 2 serverAddress
APIGroupList: 1 groups []APIGroup
APIGroup: 1 name; 2 versions []GroupVersionForDiscovery; 3 preferredVersion GroupVersionForDiscovery;
    4 serverAddressByClientCIDRs []ServerAddressByClientCIDR
GroupVersionForDiscovery: 1 groupVersion; 2 version
APIResourceList: 1 groupVersion; 2 resources []APIResource
APIResource: 1 name; 2 namespaced bool; 3 kind; 4 verbs? ExtraValue; 5 shortNames []string; 6 singularName;
    7 categories []string; 8 group; 9 version; 10 storageVersionHash

# apidiscovery.k8s.io
APIGroupDiscoveryList: 1 metadata ListMeta; 2 items []APIGroupDiscovery
APIGroupDiscovery: 1 metadata ObjectMeta; 2 versions []APIVersionDiscovery
APIVersionDiscovery: 1 version; 2 resources []APIResourceDiscovery; 3 freshness
APIResourceDiscovery: 1 resource; 2 responseKind? GroupVersionKind; 3 scope; 4 singularResource; 5 verbs []string;
    6 shortNames []string; 7 categories []string; 8 subresources []APISubresourceDiscovery
APISubresourceDiscovery: 1 subresource; 2 responseKind? GroupVersionKind; 3 acceptedTypes []GroupVersionKind;
    4 verbs []string
GroupVersionKind: 1 group; 2 version; 3 kind
"""
)


def discovery_bytes(document: Mapping[str, Any]) -> bytes:
    """A document in its envelope. It may lack an apiVersion, as that of the core group does."""
    kind: str = document["kind"]
    return wrap(document.get("apiVersion", ""), kind, message_bytes(_MESSAGES, kind, document))
