"""What a running kube-apiserver 1.36.3 says of each answer of :mod:`tests.webhooks.answers` to a GET of one object.

None: it takes it. ``WEBHOOK`` stands for ``conversion webhook for GROUP/v1, Kind=KIND``, ``URL`` for the webhook's, ``UID`` for the
request's or the object's, and ``OBJECT`` for what the webhook sent. tests/differential/test_webhooks.py asks it again.
"""

from __future__ import annotations

from collections.abc import Mapping

TEXTS: Mapping[str, str | None] = {
    "good": None,
    "no-kind": (
        "WEBHOOK failed: expected webhook response of apiextensions.k8s.io/v1, "
        "Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind="
    ),
    "no-api-version": (
        "WEBHOOK failed: expected webhook response of apiextensions.k8s.io/v1, "
        "Kind=ConversionReview, got /, Kind=ConversionReview"
    ),
    "no-type": (
        "WEBHOOK failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="
    ),
    "other-kind": (
        'WEBHOOK failed: no kind "AdmissionReview" is registered for version '
        '"apiextensions.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"'
    ),
    "other-group": (
        'WEBHOOK failed: no kind "ConversionReview" is registered for version "example.com/v1" '
        'in scheme "pkg/runtime/scheme.go:111"'
    ),
    "other-version": (
        "WEBHOOK failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"
    ),
    "unknown-version": (
        'WEBHOOK failed: no kind "ConversionReview" is registered for version '
        '"apiextensions.k8s.io/v7" in scheme "pkg/runtime/scheme.go:111"'
    ),
    "bad-version": "WEBHOOK failed: unexpected GroupVersion string: a/b/c",
    "number-version": (
        "WEBHOOK failed: couldn't get version/kind; json parse error: json: cannot unmarshal "
        "number into Go struct field .apiVersion of type string"
    ),
    "crd": ("WEBHOOK failed: converting (v1.CustomResourceDefinition) to (v1.ConversionReview): unknown conversion"),
    "options": "WEBHOOK failed: converting (v1.ListOptions) to (v1.ConversionReview): unknown conversion",
    "no-response": "WEBHOOK failed: no response provided",
    "null-response": "WEBHOOK failed: no response provided",
    "text-response": (
        "WEBHOOK failed: json: cannot unmarshal string into Go struct field "
        "ConversionReview.response of type v1.ConversionResponse"
    ),
    "list-response": (
        "WEBHOOK failed: json: cannot unmarshal array into Go struct field "
        "ConversionReview.response of type v1.ConversionResponse"
    ),
    "echo": 'WEBHOOK failed: expected response.uid="UID", got ""',
    "other-uid": 'WEBHOOK failed: expected response.uid="UID", got "another"',
    "no-uid": 'WEBHOOK failed: expected response.uid="UID", got ""',
    "number-uid": (
        "WEBHOOK failed: json: cannot unmarshal number into Go struct field "
        "ConversionResponse.response.uid of type types.UID"
    ),
    "no-result": "WEBHOOK failed: response.result.status was '', not 'Success'",
    "empty-result": "WEBHOOK failed: response.result.status was '', not 'Success'",
    "text-result": (
        "WEBHOOK failed: json: cannot unmarshal string into Go struct field "
        "ConversionResponse.response.result of type v1.Status"
    ),
    "failure": "WEBHOOK failed: no such host",
    "failure-without-message": "WEBHOOK failed: response.result.status was 'Failure', not 'Success'",
    "odd-status": "WEBHOOK failed: response.result.status was 'Maybe', not 'Success'",
    "message-without-status": "WEBHOOK failed: I do not know",
    "success-with-message": None,
    "number-status": (
        "WEBHOOK failed: json: cannot unmarshal number into Go struct field "
        "Status.response.result.status of type string"
    ),
    "number-message": (
        "WEBHOOK failed: json: cannot unmarshal number into Go struct field "
        "Status.response.result.message of type string"
    ),
    "no-objects": "WEBHOOK returned 0 objects, expected 1",
    "null-objects": "WEBHOOK returned 0 objects, expected 1",
    "empty-objects": "WEBHOOK returned 0 objects, expected 1",
    "text-objects": (
        "WEBHOOK failed: json: cannot unmarshal string into Go struct field "
        "ConversionResponse.response.convertedObjects of type []runtime.RawExtension"
    ),
    "more-objects": "WEBHOOK returned 2 objects, expected 1",
    "unknown-fields": None,
    "null-object": "unexpected end of JSON input",
    "text-object": "json: cannot unmarshal string into Go value of type map[string]interface {}",
    "number-object": "json: cannot unmarshal number into Go value of type map[string]interface {}",
    "list-object": "json: cannot unmarshal array into Go value of type map[string]interface {}",
    "empty-object": "Object 'Kind' is missing in '{}'",
    "object-without-kind": "Object 'Kind' is missing in 'OBJECT'",
    "object-with-empty-kind": "Object 'Kind' is missing in 'OBJECT'",
    "object-with-number-kind": "Object 'Kind' is missing in 'OBJECT'",
    "object-without-version": (
        "WEBHOOK returned invalid object at index 0: invalid groupVersion (expected GROUP/v2, received )"
    ),
    "object-with-number-version": (
        "WEBHOOK returned invalid object at index 0: invalid groupVersion (expected GROUP/v2, received )"
    ),
    "object-of-other-kind": "WEBHOOK returned invalid object at index 0: invalid kind (expected KIND, received Other)",
    "object-of-other-version": (
        "WEBHOOK returned invalid object at index 0: invalid groupVersion (expected GROUP/v2, received example.com/v9)"
    ),
    "object-of-bad-version": "Object 'Kind' is missing in 'OBJECT'",
    "object-unconverted": (
        "WEBHOOK returned invalid object at index 0: invalid groupVersion (expected GROUP/v2, received GROUP/v1)"
    ),
    "other-name": "WEBHOOK returned invalid object: must have the same name: a != other",
    "number-name": "WEBHOOK returned invalid object: must have the same name: a != ",
    "other-namespace": "WEBHOOK returned invalid object: must have the same namespace: default != other",
    "other-object-uid": "WEBHOOK returned invalid object: must have the same UID: UID != another",
    "no-metadata": "WEBHOOK returned invalid object: must have the same name: a != ",
    "null-metadata": "WEBHOOK returned invalid object: must have the same name: a != ",
    "text-metadata": "WEBHOOK returned invalid object: must have the same name: a != ",
    "labels": None,
    "bad-label": (
        'WEBHOOK returned invalid metadata: metadata.labels: Invalid value: "not a label!": a '
        "valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    ),
    "bad-label-key": (
        'WEBHOOK returned invalid metadata: metadata.labels: Invalid value: "a b": name part '
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
        "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    ),
    "number-label": (
        "WEBHOOK returned invalid metadata: metadata.labels[color] must be a string, but is int64 in converted object"
    ),
    "float-label": (
        "WEBHOOK returned invalid metadata: metadata.labels[color] must be a string, but is float64 in converted object"
    ),
    "bool-label": (
        "WEBHOOK returned invalid metadata: metadata.labels[color] must be a string, but is bool in converted object"
    ),
    "null-label": (
        "WEBHOOK returned invalid metadata: metadata.labels[color] must be a string, but is <nil> in converted object"
    ),
    "list-label": (
        "WEBHOOK returned invalid metadata: metadata.labels[color] must be a string, but is "
        "[]interface {} in converted object"
    ),
    "map-label": (
        "WEBHOOK returned invalid metadata: metadata.labels[color] must be a string, but is "
        "map[string]interface {} in converted object"
    ),
    "text-labels": ("WEBHOOK returned invalid metadata: invalid metadata.labels of type string in converted object"),
    "list-labels": (
        "WEBHOOK returned invalid metadata: invalid metadata.labels of type []interface {} in converted object"
    ),
    "null-labels": None,
    "number-annotations": (
        "WEBHOOK returned invalid metadata: invalid metadata.annotations of type int64 in converted object"
    ),
    "bad-annotation-key": (
        'WEBHOOK returned invalid metadata: metadata.annotation: Invalid value: "a b": name part '
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
        "an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    ),
    "number-annotation": (
        "WEBHOOK returned invalid metadata: metadata.annotations[a] must be a string, but is int64 in converted object"
    ),
    "other-metadata": None,
    "duplicate-keys": None,
    "no-content": ("WEBHOOK failed: 0-length response with status code: 204 and content type: application/json"),
    "empty": ("WEBHOOK failed: 0-length response with status code: 200 and content type: application/json"),
    "empty-text": "WEBHOOK failed: 0-length response with status code: 200 and content type: text/plain",
    "empty-untyped": ("WEBHOOK failed: 0-length response with status code: 200 and content type: application/json"),
    "text": (
        "WEBHOOK failed: couldn't get version/kind; json parse error: json: cannot unmarshal "
        "string into Go value of type struct { APIVersion string "
        '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    ),
    "html": (
        "WEBHOOK failed: couldn't get version/kind; json parse error: json: cannot unmarshal "
        "string into Go value of type struct { APIVersion string "
        '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    ),
    "json-text": (
        "WEBHOOK failed: couldn't get version/kind; json parse error: json: cannot unmarshal "
        "string into Go value of type struct { APIVersion string "
        '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    ),
    "json-number": (
        "WEBHOOK failed: couldn't get version/kind; json parse error: json: cannot unmarshal "
        "number into Go value of type struct { APIVersion string "
        '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    ),
    "json-list": (
        "WEBHOOK failed: couldn't get version/kind; json parse error: json: cannot unmarshal "
        'array into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
        'Kind string "json:\\"kind,omitempty\\"" }'
    ),
    "json-null": (
        "WEBHOOK failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="
    ),
    "json-object": (
        "WEBHOOK failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="
    ),
    "broken-json": ("WEBHOOK failed: couldn't get version/kind; json parse error: unexpected end of JSON input"),
    "broken-json-later": (
        "WEBHOOK failed: couldn't get version/kind; json parse error: invalid character '1' after object key"
    ),
    "trailing-text": (
        "WEBHOOK failed: couldn't get version/kind; json parse error: invalid character 'x' after top-level value"
    ),
    "deep": ("WEBHOOK failed: couldn't get version/kind; json parse error: invalid character '[' exceeded max depth"),
    "status-failure": "WEBHOOK failed: converting (v1.Status) to (v1.ConversionReview): unknown conversion",
    "status-success": "WEBHOOK failed: converting (v1.Status) to (v1.ConversionReview): unknown conversion",
    "yaml": "WEBHOOK failed: no response provided",
    "typed-text": None,
    "typed-html": None,
    "typed-yaml": None,
    "typed-protobuf": None,
    "typed-json-utf8": None,
    "typed-nothing": None,
    "typed-badly": "WEBHOOK failed: Internal error occurred: mime: expected token after slash",
    "typed-badly-too": "WEBHOOK failed: Internal error occurred: mime: expected slash after first token",
    "typed-without-media": "WEBHOOK failed: Internal error occurred: mime: no media type",
    "created": None,
    "partial": None,
    "multi-status": (
        "WEBHOOK failed: the server responded with the status code 207 but did not return more information"
    ),
    "code-300-text": (
        "WEBHOOK failed: the server responded with the status code 300 but did not return more information"
    ),
    "code-300": ("WEBHOOK failed: the server responded with the status code 300 but did not return more information"),
    "code-304-text": (
        "WEBHOOK failed: the server responded with the status code 304 but did not return more information"
    ),
    "code-304": ("WEBHOOK failed: the server responded with the status code 304 but did not return more information"),
    "code-400-text": "WEBHOOK failed: the server rejected our request for an unknown reason",
    "code-400": "WEBHOOK failed: the server rejected our request for an unknown reason",
    "code-401-text": "WEBHOOK failed: the server has asked for the client to provide credentials",
    "code-401": "WEBHOOK failed: the server has asked for the client to provide credentials",
    "code-402-text": (
        "WEBHOOK failed: the server responded with the status code 402 but did not return more information"
    ),
    "code-402": ("WEBHOOK failed: the server responded with the status code 402 but did not return more information"),
    "code-403-text": "WEBHOOK failed: <why> it\nfails",
    "code-403": "WEBHOOK failed: unknown",
    "code-404-text": "WEBHOOK failed: the server could not find the requested resource",
    "code-404": "WEBHOOK failed: the server could not find the requested resource",
    "code-405-text": "WEBHOOK failed: the server does not allow this method on the requested resource",
    "code-405": "WEBHOOK failed: the server does not allow this method on the requested resource",
    "code-406-text": "WEBHOOK failed: <why> it\nfails",
    "code-406": ("WEBHOOK failed: the server was unable to respond with a content type that the client supports"),
    "code-409-text": "WEBHOOK failed: the server reported a conflict",
    "code-409": "WEBHOOK failed: the server reported a conflict",
    "code-410-text": (
        "WEBHOOK failed: the server responded with the status code 410 but did not return more information"
    ),
    "code-410": ("WEBHOOK failed: the server responded with the status code 410 but did not return more information"),
    "code-415-text": "WEBHOOK failed: <why> it\nfails",
    "code-415": "WEBHOOK failed: unknown",
    "code-418-text": (
        "WEBHOOK failed: the server responded with the status code 418 but did not return more information"
    ),
    "code-418": ("WEBHOOK failed: the server responded with the status code 418 but did not return more information"),
    "code-422-text": "WEBHOOK failed: the server rejected our request due to an error in our request",
    "code-422": "WEBHOOK failed: the server rejected our request due to an error in our request",
    "code-429-text": ("WEBHOOK failed: the server has received too many requests and has asked us to try again later"),
    "code-429": ("WEBHOOK failed: the server has received too many requests and has asked us to try again later"),
    "code-500-text": (
        'WEBHOOK failed: an error on the server ("<why> it\\nfails") has prevented the request from succeeding'
    ),
    "code-500": ('WEBHOOK failed: an error on the server ("unknown") has prevented the request from succeeding'),
    "code-501-text": (
        'WEBHOOK failed: an error on the server ("<why> it\\nfails") has prevented the request from succeeding'
    ),
    "code-501": ('WEBHOOK failed: an error on the server ("unknown") has prevented the request from succeeding'),
    "code-502-text": (
        'WEBHOOK failed: an error on the server ("<why> it\\nfails") has prevented the request from succeeding'
    ),
    "code-502": ('WEBHOOK failed: an error on the server ("unknown") has prevented the request from succeeding'),
    "code-503-text": "WEBHOOK failed: the server is currently unable to handle the request",
    "code-503": "WEBHOOK failed: the server is currently unable to handle the request",
    "code-504-text": (
        "WEBHOOK failed: the server was unable to return a response in the time allotted, but "
        "may still be processing the request"
    ),
    "code-504": (
        "WEBHOOK failed: the server was unable to return a response in the time allotted, but "
        "may still be processing the request"
    ),
    "code-599-text": (
        'WEBHOOK failed: an error on the server ("<why> it\\nfails") has prevented the request from succeeding'
    ),
    "code-599": ('WEBHOOK failed: an error on the server ("unknown") has prevented the request from succeeding'),
    "code-500-json": ('WEBHOOK failed: an error on the server ("unknown") has prevented the request from succeeding'),
    "code-500-untyped": 'WEBHOOK failed: an error on the server ("why") has prevented the request from succeeding',
    "code-500-status": "WEBHOOK failed: not today",
    "code-403-status": "WEBHOOK failed: not you",
    "code-500-success": (
        'WEBHOOK failed: an error on the server ("unknown") has prevented the request from succeeding'
    ),
    "code-500-message": (
        'WEBHOOK failed: an error on the server ("unknown") has prevented the request from succeeding'
    ),
    "code-500-review": ('WEBHOOK failed: an error on the server ("unknown") has prevented the request from succeeding'),
    "code-500-empty": ('WEBHOOK failed: an error on the server ("unknown") has prevented the request from succeeding'),
    "code-500-long": 'WEBHOOK failed: an error on the server ("X") has prevented the request from succeeding',
    "code-500-bad-type": "WEBHOOK failed: Internal error occurred: mime: expected token after slash",
    "redirect": (
        'WEBHOOK failed: Post "https://127.0.0.1:9/elsewhere": dial tcp 127.0.0.1:9: connect: connection refused'
    ),
    "redirect-without-location": (
        "WEBHOOK failed: the server responded with the status code 302 but did not return more information"
    ),
    "closed": 'WEBHOOK failed: Post "URL": EOF',
    "closed-in-head": (
        'WEBHOOK failed: Post "URL": net/http: HTTP/1.x transport connection broken: malformed '
        'MIME header: missing colon: "Content-"'
    ),
    "closed-in-body": (
        "WEBHOOK failed: unexpected error when reading response body. Please retry. Original error: unexpected EOF"
    ),
    "closed-in-chunk": (
        "WEBHOOK failed: unexpected error when reading response body. Please retry. Original error: unexpected EOF"
    ),
    "garbage": (
        'WEBHOOK failed: Post "URL": net/http: HTTP/1.x transport connection broken: malformed HTTP response "hello"'
    ),
    "other-protocol": (
        'WEBHOOK failed: Post "URL": net/http: HTTP/1.x transport connection broken: malformed '
        'HTTP response "SSH-2.0-OpenSSH_9.2"'
    ),
    "bad-status-code": (
        'WEBHOOK failed: Post "URL": net/http: HTTP/1.x transport connection broken: malformed HTTP status code "abc"'
    ),
    "bad-length": (
        'WEBHOOK failed: Post "URL": net/http: HTTP/1.x transport connection broken: bad Content-Length "x"'
    ),
    "bad-chunk": (
        "WEBHOOK failed: unexpected error when reading response body. Please retry. Original "
        "error: invalid byte in chunk length"
    ),
    "upgrade": ("WEBHOOK failed: 0-length response with status code: 101 and content type: application/json"),
}

DIFFERENT: Mapping[str, str] = {
    # Go's net/http and llhttp find different mistakes, and a redirect could lead anywhere
    "redirect": "WEBHOOK failed: the server responded with the status code 302 but did not return more information",
    "closed-in-head": 'WEBHOOK failed: Post "URL": EOF',
    "bad-status-code": 'WEBHOOK failed: Post "URL": malformed HTTP response: Invalid status code',
    "garbage": 'WEBHOOK failed: Post "URL": malformed HTTP response: Expected HTTP/, RTSP/ or ICE/',
    "other-protocol": 'WEBHOOK failed: Post "URL": malformed HTTP response: Expected HTTP/, RTSP/ or ICE/',
    "bad-length": 'WEBHOOK failed: Post "URL": malformed HTTP response: Invalid character in Content-Length',
    "upgrade": 'WEBHOOK failed: Post "URL": malformed HTTP response: unsolicited response: status code 101',
    "bad-chunk": (
        "WEBHOOK failed: unexpected error when reading response body. Please retry. "
        "Original error: malformed HTTP response: Invalid character in chunk size"
    ),
    # 200 levels are enough here; Go has 10,000
    "deep": "WEBHOOK failed: couldn't get version/kind; json parse error: exceeded max depth",
}
"""Texts that are not kube-apiserver's."""
