"""``python -m extapi.controlplane``: runs the control plane."""

from __future__ import annotations

from extapi.controlplane.command import control_plane

if __name__ == "__main__":
    control_plane(prog_name="python -m extapi.controlplane")
