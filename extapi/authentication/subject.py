"""Who was refused, as kubectl wants it said: taken from the words of kube-apiserver's refusals."""

from __future__ import annotations

import re

_USER = re.compile(r'User "(?:system:serviceaccount:([^":]+):([^":]+)|([^"]+))"')


def subject_flag(message: str) -> str:
    """``--serviceaccount=NS:NAME`` or ``--user=NAME`` for ``kubectl create rolebinding``, of a message of RBAC."""
    found = _USER.search(message)
    if found is None:
        return "--serviceaccount=YOUR_NS:YOUR_SA"
    namespace, account, user = found.groups()
    return f'--user="{user}"' if user else f"--serviceaccount={namespace}:{account}"
