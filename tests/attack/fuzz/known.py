"""What is known to be wrong and is being put right elsewhere: not sent, or not counted, until it is.

Each entry names the point of issue 9 that it belongs to, and goes with it: when all are closed, both tables are empty.
"""

from __future__ import annotations

SAFE_SIZE: dict[tuple[str, int], int] = {
    # Point 1: patterns that go back, or scan quadratically. (form, which of its makers) -> the largest size that is sent.
    ("email", 0): 12,
    ("email", 4): 12,
    ("email", 5): 12,
    ("email", 9): 12,
    **{("quantity", maker): 1000 for maker in range(12)},
    **{("duration", maker): 2000 for maker in range(12)},
}

NOT_COUNTED: dict[str, str] = {
    # A pattern of a finding -> why it, and whatever else was found with the same request, is not counted.
    "resourceVersion: Invalid value": "point 8: a resourceVersion that is no number",
    'an answer of 5xx: 500 Internal Server Error: "': "point 8: bare /watch",
    "is beyond float64": "point 2: numbers beyond float64",
    r"an answer of 5xx: 500\s+to \w+: HEAD ": "point 8: the same, without a body to tell",
    "int too large to convert to float": "point 2: numbers beyond float64",
    "cannot convert float infinity to integer": "point 2: numbers beyond float64",
}
