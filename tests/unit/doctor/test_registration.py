from __future__ import annotations

import datetime as dt

from extapi.doctor.registration import RegisteredService, moment, registration


def test_what_is_missing_or_of_a_wrong_type_is_left_out() -> None:
    """kube-apiserver would not send it; whoever answers in its place may."""
    empty = registration({})
    assert (empty.name, empty.service, empty.bundle, empty.insecure, empty.available) == ("", None, b"", False, None)
    strange = registration(
        {
            "metadata": [],
            "spec": {"service": {"port": "x"}, "caBundle": "?", "insecureSkipTLSVerify": "true"},
            "status": {"conditions": ["x", {"type": "Available", "status": None}]},
        }
    )
    assert strange.service == RegisteredService("", "", 443)
    assert (strange.bundle, strange.insecure) == (b"", False)
    assert strange.available is not None
    assert (strange.available.status, strange.available.since, strange.passes) == ("", None, False)


def test_a_name_that_no_service_has_reaches_neither_a_path_nor_a_shell() -> None:
    """kube-apiserver takes any text here, and the names stand in commands that are copied."""
    service = {"namespace": "../..", "name": "x; rm -rf $(cat /?a=\x1b"}
    assert registration({"spec": {"service": service}}).service == RegisteredService(
        "_____", "x__rm_-rf___cat___a__", 443
    )


def test_times() -> None:
    assert moment("2026-01-02T03:04:05Z") == dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    assert moment("soon") is None
    assert moment(7) is None
