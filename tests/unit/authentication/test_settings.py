from __future__ import annotations

import pytest

from extapi.authentication.certificates import BundleError
from extapi.authentication.settings import HeaderNames, Settings
from tests.certificates import authority


def test_each_change_is_a_generation_and_is_told_once() -> None:
    settings = Settings()
    seen: list[int] = []
    settings.observers.append(lambda: seen.append(settings.generation))
    clients, proxies = authority("clients").pem, authority("proxies").pem
    assert settings.trust_clients(clients)
    assert settings.trust_proxies(proxies)
    assert settings.use_names(HeaderNames(username=("x-remote-user",)))
    assert seen == [1, 2, 3]
    assert not settings.trust_clients(clients)
    assert not settings.trust_proxies(proxies)
    assert not settings.use_names(HeaderNames(username=("x-remote-user",)))
    assert seen == [1, 2, 3]
    settings.distrust_proxies()
    assert seen == [1, 2, 3, 4]
    assert settings.proxy_ca is None


def test_a_bundle_that_is_none_changes_nothing() -> None:
    settings = Settings()
    good = authority("clients").pem
    settings.trust_clients(good)
    with pytest.raises(BundleError):
        settings.trust_clients(b"-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n")
    assert settings.client_ca is not None
    assert (settings.client_ca.pem, settings.generation) == (good, 1)
