"""Webhooks: where one is, and which reviews it understands; conversion by one.

Source: ``apiextensions-apiserver/pkg/apis/apiextensions/validation`` validateCustomResourceConversion, and
``k8s.io/apiserver/pkg/util/webhook`` validation.go.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from cryptography import x509

from extapi.api.names import dns1035_label, dns1123_subdomain
from extapi.fielderrors import MOST_ERRORS, FieldError
from extapi.schema.cel.library.neturl import URLError, parse_url, text_of

REVIEW_VERSIONS: Final = ("v1", "v1beta1")
"""The versions of reviews, of any purpose, that kube-apiserver understands."""
_FORM: Final = "; desired format: https://host[/path]"
_MAX_PORT: Final = 65535
_UNSET: Final = "should not be set when strategy is not set to Webhook"


def conversion_errors(
    conversion: Mapping[str, Any], path: str, *, review_versions: bool, any_ca_bundle: bool
) -> Iterator[FieldError]:
    """The errors of ``spec.conversion`` (behaviour J4).

    Args:
        conversion: It, with its defaults.
        path: Where it is.
        review_versions: Whether one of the versions of ConversionReview has to be known.
        any_ca_bundle: Whether the caBundle may be anything.
    """
    strategy = conversion.get("strategy") or ""
    if not strategy:
        yield FieldError.required(f"{path}.strategy")
    elif strategy not in {"None", "Webhook"}:
        yield FieldError.not_supported(f"{path}.strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    at = f"{path}.webhookClientConfig"
    if strategy != "Webhook":
        if client is not None:
            yield FieldError.forbidden(at, _UNSET)
        if versions:
            yield FieldError.forbidden(f"{path}.conversionReviewVersions", _UNSET)
        return
    if client is None:
        yield FieldError.required(at, "required when strategy is set to Webhook")
    else:
        yield from client_errors(client, at)
        bundle = client.get("caBundle") or ""
        if bundle and not any_ca_bundle and (problem := ca_bundle_problem(bundle)):
            yield FieldError.invalid(f"{at}.caBundle", bundle, problem)
    if not versions:
        yield FieldError.required(f"{path}.conversionReviewVersions")
    else:
        yield from review_version_errors(versions, f"{path}.conversionReviewVersions", known=review_versions)


def ca_bundle_problem(bundle: str) -> str:
    """Why no certificates can be read from a caBundle in base64; empty if they can.

    Source: ``k8s.io/client-go/transport`` TLSConfigFor.
    """
    try:
        rest = base64.b64decode(bundle, validate=True)
    except (ValueError, binascii.Error):
        return ""  # the decoder of the object refuses it
    said = "no valid certificate authority data seen"
    begin = rest.find(b"-----BEGIN ")
    if begin < 0:
        said = "unable to parse bytes as PEM block"
    while begin >= 0:
        label, _, rest = rest[begin + 11 :].partition(b"-----")
        body, end, rest = rest.partition(b"-----END " + label + b"-----")
        if not end:
            said = "unable to parse bytes as PEM block"
            break
        if label == b"CERTIFICATE" and b":" not in body:
            try:
                x509.load_der_x509_certificate(base64.b64decode(body))
            except ValueError as error:
                said = f"failed to parse certificate: {error}"
                break
            return ""
        begin = rest.find(b"-----BEGIN ")
    return f"unable to load root certificates: {said}"


def client_errors(client: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    """The errors of a ``clientConfig``, of a webhook of any purpose: where it is."""
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield FieldError.required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, f"{path}.url")
    else:
        yield from _service(service or {}, f"{path}.service")


def _url(text: str, path: str) -> Iterator[FieldError]:
    try:
        url = parse_url(text)
    except URLError as error:
        yield FieldError.required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != "https":
        yield FieldError.invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not url.host:
        yield FieldError.invalid(path, "", f"host must be specified{_FORM}")
    if url.user is not None:
        yield FieldError.invalid(path, url.user_information(), "user information is not permitted in the URL")
    if url.fragment:
        yield FieldError.invalid(path, text_of(url.fragment), "fragments are not permitted in the URL")
    if url.raw_query:
        yield FieldError.invalid(path, url.raw_query, "query parameters are not permitted in the URL")


def _service(service: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    # kube-apiserver mistakes one for the other.
    for name, said in (("namespace", "name"), ("name", "namespace")):
        if not service.get(name):
            yield FieldError.required(f"{path}.{said}")
    port = service.get("port") or 0
    if not 1 <= port <= _MAX_PORT:
        text = f"port is not valid: must be between 1 and {_MAX_PORT}, inclusive"
        yield FieldError.invalid(f"{path}.port", port, text)
    url_path = service.get("path")
    if url_path:
        yield from _service_path(url_path, f"{path}.path")


def _service_path(written: str, path: str) -> Iterator[FieldError]:
    if written == "/":
        return
    if written == "//":
        yield FieldError.invalid(path, written, "segment[0] may not be empty")
        return
    if not written.startswith("/"):
        yield FieldError.invalid(path, written, "must start with a '/'")
    for index, step in enumerate(written[1:].removesuffix("/").split("/")[:MOST_ERRORS]):
        if not step:
            yield FieldError.invalid(path, written, f"segment[{index}] may not be empty")
            continue
        for problem in dns1123_subdomain(step):
            yield FieldError.invalid(path, written, f"segment[{index}]: {problem}")


def review_version_errors(versions: Sequence[str], path: str, *, known: bool) -> Iterator[FieldError]:
    """The errors of the versions of reviews that a webhook understands, of which there are some.

    Args:
        versions: They.
        path: Where they are.
        known: Whether kube-apiserver has to know one of them.
    """
    seen = set[str]()
    for index, version in enumerate(versions[:MOST_ERRORS]):
        if version in seen:
            yield FieldError.invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        seen.add(version)
        for problem in dns1035_label(version):
            yield FieldError.invalid(f"{path}[{index}]", version, problem)
    if known and not any(each in REVIEW_VERSIONS for each in versions):
        yield FieldError.invalid(path, list(versions), f"must include at least one of {', '.join(REVIEW_VERSIONS)}")
