"""What went wrong on the network, in one line for an operator.

Knows the errors of Twisted and of OpenSSL. Must not know requests.
"""

from __future__ import annotations

from twisted.python.failure import Failure


def innermost(error: BaseException) -> list[BaseException]:
    """The errors that Twisted's HTTP client wrapped, innermost ones only."""
    inner = getattr(error, "reasons", None)
    if not inner:
        return [error]
    found: list[BaseException] = []
    for each in inner:
        found += innermost(each.value if isinstance(each, Failure) and each.value is not None else each)
    return found


def sentence(error: BaseException) -> str:
    """What an error says, in one line and without a full stop."""
    if type(error).__module__.startswith("OpenSSL"):
        details = [item[-1] for item in error.args[0] if item] if error.args and error.args[0] else []
        return f"TLS: {'; '.join(details) or 'the connection was ended'}"
    text = " ".join(str(error).split()) or type(error).__name__
    return text.rstrip(".")
