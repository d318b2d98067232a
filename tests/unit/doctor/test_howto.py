"""The pages about the doctor name every check and every option."""

from __future__ import annotations

import re
from pathlib import Path

from extapi.doctor import checks
from extapi.doctor.command import doctor
from tests.docs import tables
from tests.docs.samples import ROOT


def test_every_check_is_on_the_page() -> None:
    told = tables.first_cells(tables.rows_of(ROOT / "docs" / "howto" / "doctor.md", "Checks"))
    areas = {each.partition(".")[0] for each in told}
    source = "".join(path.read_text() for path in Path(checks.__file__).parent.glob("*.py"))
    made = set(re.findall(rf'"((?:{"|".join(areas)})\.[-a-z0-9]+)"', source))
    assert sorted(told) == sorted(made)


def test_every_option_is_in_the_reference() -> None:
    assert tables.rows_of(ROOT / "docs" / "reference" / "flags.md", "extapi doctor") == tables.command_options(doctor)
