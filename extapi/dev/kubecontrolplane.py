"""The real control plane on loopback: etcd, kube-apiserver and kube-controller-manager with the flags they need.

Knows their command lines and when each is ready; knows nothing of extension servers.
"""

from __future__ import annotations

from collections.abc import Sequence

from extapi.dev.access import FRONT_PROXY_USER, ISSUER, Access
from extapi.dev.build import Programs
from extapi.dev.certificates import SERVICE_ADDRESSES, Certificates
from extapi.dev.directory import StateDirectory, check_room
from extapi.dev.ports import LOOPBACK
from extapi.dev.processes import Processes

_NOWHERE = "http://127.0.0.1:2379"
"""etcd has to advertise a host and a port; in a cluster of one member nobody uses it."""
_CONTROLLERS = (
    # The controllers that users and extension servers notice. There are no nodes, so none that run pods.
    "clusterrole-aggregation-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "validatingadmissionpolicy-status-controller",
)
_ETCD_ROOM = 65 * 1024**2
"""Bytes that a new etcd needs: its log is made with all of its size.

Source: ``go.etcd.io/etcd/server/v3/storage/wal`` SegmentSizeBytes.
"""


class KubeControlPlane(Access):
    """One control plane in one directory. ``port`` is kube-apiserver's; nothing else listens on TCP.

    Args:
        host: The loopback address to listen on; Services get addresses of its family.
        durable: Whether etcd waits for the disk; tests need not survive a power cut.
        flags: Additional flags of kube-apiserver; of a flag that is given twice, the last one counts.
        controllers: Additional controllers of kube-controller-manager.
    """

    def __init__(
        self,
        *,
        state: StateDirectory,
        port: int,
        programs: Programs,
        certificates: Certificates,
        processes: Processes,
        host: str = LOOPBACK,
        durable: bool = True,
        flags: Sequence[str] = (),
        controllers: Sequence[str] = (),
    ) -> None:
        super().__init__(state=state, port=port, certificates=certificates, host=host)
        self._programs = programs
        self._processes = processes
        self._durable = durable
        self._flags = flags
        self._controllers = (*_CONTROLLERS, *controllers)

    def start(self) -> None:
        """Start etcd and kube-apiserver, and return when ``/readyz`` says ok.

        Raises:
            DevFailure: One of them cannot be started, ended, or is not ready in time.
        """
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Start etcd and kube-apiserver, and return when etcd listens.

        Raises:
            DevFailure: One of them cannot be started, or etcd ended.
        """
        self._start_etcd()
        self._processes.start("kube-apiserver", self._apiserver_command(), directory=self._state.etcd)

    def wait_ready(self) -> None:
        """Return when ``/readyz`` says ok.

        Raises:
            DevFailure: One of them ended, or is not ready in time.
        """
        self._processes.wait_until(lambda: self.client.problem("/readyz"), "kube-apiserver to be ready", seconds=90)

    def start_controller_manager(self) -> bool:
        """Start kube-controller-manager; False if there is no such program (envtest has none)."""
        if self._programs.controller_manager is None:
            return False
        config = self.write_kubeconfig("controller-manager")
        command = [
            *self._programs.controller_manager,
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            f"--service-account-private-key-file={self._certificates.key('service-account')}",
            f"--root-ca-file={self._certificates.certificate('cluster-ca')}",
            f"--controllers={','.join(self._controllers)}",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            "--secure-port=0",
        ]
        self._processes.start("kube-controller-manager", command)
        return True

    def _start_etcd(self) -> None:
        """Start etcd on Unix sockets, which need no port and obey the permissions of DIR; on TCP anybody could connect.

        Their names are relative to the working directory, because a socket's path has at most 107 bytes.
        """
        if not (self._state.etcd / "data").exists():
            check_room(self._state.root, _ETCD_ROOM)  # it would panic
        self._state.etcd.mkdir(mode=0o700, exist_ok=True)
        for socket in ("client.sock", "peer.sock"):
            (self._state.etcd / socket).unlink(missing_ok=True)
        command = [
            *self._programs.etcd,
            "--name=default",
            "--data-dir=data",
            "--listen-client-urls=unix://client.sock",
            "--listen-peer-urls=unix://peer.sock",
            f"--advertise-client-urls={_NOWHERE}",
            f"--initial-advertise-peer-urls={_NOWHERE}",
            f"--initial-cluster=default={_NOWHERE}",
            "--auto-compaction-retention=5m",
            *(() if self._durable else ("--unsafe-no-fsync",)),
        ]
        self._processes.start("etcd", command, directory=self._state.etcd)
        # kube-apiserver gives up if it cannot reach its store.
        client = self._state.etcd / "client.sock"
        self._processes.wait_until(
            lambda: None if client.exists() else f"there is no {client}", "etcd to listen", seconds=30
        )

    def _apiserver_command(self) -> list[str]:
        certificate, key = self._certificates.certificate, self._certificates.key
        return [
            *self._programs.apiserver,
            "--etcd-servers=unix://client.sock",
            f"--bind-address={self.host}",
            f"--advertise-address={self.host}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={certificate('kube-apiserver')}",
            f"--tls-private-key-file={key('kube-apiserver')}",
            f"--client-ca-file={certificate('cluster-ca')}",
            f"--requestheader-client-ca-file={certificate('front-proxy-ca')}",
            f"--requestheader-allowed-names={FRONT_PROXY_USER}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-uid-headers=X-Remote-Uid",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={certificate(FRONT_PROXY_USER)}",
            f"--proxy-client-key-file={key(FRONT_PROXY_USER)}",
            f"--service-account-issuer={ISSUER}",
            f"--service-account-key-file={self._certificates.service_account_public}",
            f"--service-account-signing-key-file={key('service-account')}",
            f"--cert-dir={self._state.root / 'kube-apiserver'}",
            "--authorization-mode=RBAC",
            f"--service-cluster-ip-range={SERVICE_ADDRESSES[self.host]}",
            # The endpoints of the service "kubernetes" may not be a loopback address, and nothing here uses them.
            "--endpoint-reconciler-type=none",
            *self._flags,
        ]
