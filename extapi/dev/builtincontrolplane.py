"""The built-in control plane on loopback: its command line, and when it is ready.

The counterpart of ``kubecontrolplane``, with the same methods. Knows flags; knows nothing of extension servers, and does
not import the control plane, which is a separate process.
"""

from __future__ import annotations

from collections.abc import Sequence

from extapi.dev.access import FRONT_PROXY_USER, ISSUER, Access
from extapi.dev.certificates import Certificates
from extapi.dev.directory import StateDirectory
from extapi.dev.ports import LOOPBACK
from extapi.dev.processes import Processes


class BuiltinControlPlane(Access):
    """One control plane in one directory: one process, one SQLite file, one port.

    Args:
        host: The loopback address to listen on.
        durable: Whether objects are kept in DIR; tests need not survive a restart.
        flags: Additional flags; of a flag that is given twice, the last one counts.
    """

    def __init__(
        self,
        *,
        state: StateDirectory,
        port: int,
        certificates: Certificates,
        processes: Processes,
        host: str = LOOPBACK,
        durable: bool = True,
        flags: Sequence[str] = (),
    ) -> None:
        super().__init__(state=state, port=port, certificates=certificates, host=host)
        self._processes = processes
        self._durable = durable
        self._further = flags

    def start(self) -> None:
        """Start it, and return when ``/readyz`` says ok.

        Raises:
            DevFailure: It cannot be started, it ended, or it is not ready in time.
        """
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start it and return at once.

        Raises:
            DevFailure: It cannot be started.
        """
        self._processes.start_python("control-plane", "extapi.controlplane", self._flags())

    def wait_ready(self) -> None:
        """Return when ``/readyz`` says ok.

        Raises:
            DevFailure: It ended, or is not ready in time.
        """
        self._processes.wait_until(
            lambda: self.client.problem("/readyz"), "the control plane to be ready", seconds=60, interval=0.03
        )

    def start_controller_manager(self) -> bool:
        """Nothing to do: its controllers run in the same process."""
        return True

    def _flags(self) -> list[str]:
        certificate, key = self._certificates.certificate, self._certificates.key
        return [
            f"--bind-address={self.host}",
            f"--secure-port={self.port}",
            f"--storage={f'sqlite:///{self._state.objects}' if self._durable else 'memory:'}",
            f"--tls-cert-file={certificate('kube-apiserver')}",
            f"--tls-private-key-file={key('kube-apiserver')}",
            f"--client-ca-file={certificate('cluster-ca')}",
            f"--requestheader-client-ca-file={certificate('front-proxy-ca')}",
            f"--requestheader-allowed-names={FRONT_PROXY_USER}",
            f"--proxy-client-cert-file={certificate(FRONT_PROXY_USER)}",
            f"--proxy-client-key-file={key(FRONT_PROXY_USER)}",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={key('service-account')}",
            *self._further,
        ]
