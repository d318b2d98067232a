"""Who may send AdmissionReviews: with ``--client-ca-file``, whoever shows a certificate of those authorities.

kube-apiserver shows the one in the kubeconfig that its ``--admission-control-config-file`` names for the webhook. It has none
for conversion webhooks, so ConversionReviews are answered without: what they get is their own objects in another version.

Source: ``k8s.io/apiserver/pkg/util/webhook/authentication.go``, ``apiextensions-apiserver/pkg/apiserver/conversion``
NewCRConverterFactory, which gives its client no kubeconfig.
"""

from __future__ import annotations

from collections.abc import Collection

from extapi.authentication.authenticator import AuthenticationError
from extapi.authentication.clientcertificate import ClientCertificate
from extapi.authentication.trust import TrustSettings
from extapi.clock import Clock
from extapi.http.request import Request


class Callers:
    """Judges the callers of reviews.

    Args:
        settings: Has the authorities, which may change.
        clock: The time.
        names: Common names of certificates that are accepted; empty: any.
    """

    def __init__(self, settings: TrustSettings, clock: Clock, names: Collection[str] = ()) -> None:
        self._certificates = ClientCertificate(settings, clock)
        self._names = frozenset(names)

    async def refusal(self, request: Request) -> str:
        """Why the caller is refused; empty if it is accepted. The log gets more than the caller."""
        try:
            user = await self._certificates.authenticate(request)
        except AuthenticationError as error:
            request.log["authentication"] = str(error)
            return "the client certificate is not accepted"
        if user is None:
            return "a client certificate with a common name is required"
        request.user = user
        if self._names and user.name not in self._names:
            return "the common name of the client certificate is not allowed"
        request.peer.authenticated = True
        return ""
