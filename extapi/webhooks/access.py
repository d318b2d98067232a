"""Who may read the health and the metrics of a webhook server: the cluster decides, as it does for ``extapi serve``.

The reader's token is reviewed by TokenReview, what it may read by SubjectAccessReview; paths of
``--authorization-always-allow-paths`` may be read by anybody. A server without a cluster has nobody to ask, so there only these
may be read. Reviews are not judged here: :mod:`extapi.webhooks.callers` does that.

Source: ``sigs.k8s.io/controller-runtime/pkg/metrics/filters`` WithAuthenticationAndAuthorization, which decides likewise.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from typing import Any

from extapi.authentication.authenticator import UnionAuthenticator
from extapi.authentication.bearer import Bearer
from extapi.authentication.stage import Authentication
from extapi.authentication.tokenreview import TokenReviewer
from extapi.authentication.trust import TrustSettings
from extapi.authorization.alwaysallow import AlwaysAllowGroups, AlwaysAllowPaths
from extapi.authorization.authorizer import Authorizer, UnionAuthorizer
from extapi.authorization.stage import Authorization
from extapi.authorization.subjectaccessreview import SubjectAccessReviewer
from extapi.client.kube import Client
from extapi.http.response import Handler
from extapi.server.failure import Failures


def delegated(
    client: Client | None, paths: Collection[str], reactor: Any, jitter: Callable[[], float]
) -> Callable[[Handler], Handler]:
    """What wraps a handler so that only those who may read are answered.

    Args:
        client: Reaches the cluster; None: there is none.
        paths: What anybody may read; a trailing ``*`` matches anything.
        reactor: The clock.
        jitter: Returns random numbers in [0, 1).
    """
    authorizers: list[Authorizer] = [AlwaysAllowGroups(), AlwaysAllowPaths(paths)]
    tokens = []
    if client is not None:
        authorizers.append(SubjectAccessReviewer(client, clock=reactor, jitter=jitter))
        reviewer = TokenReviewer(client, clock=reactor, secret=secrets.token_bytes(32), jitter=jitter)
        tokens.append(Bearer(reviewer))

    def wrapped(handler: Handler) -> Handler:
        authorized = Authorization(handler, UnionAuthorizer(authorizers))
        return Failures(Authentication(authorized, UnionAuthenticator(tokens), TrustSettings()))

    return wrapped
