"""The page about scale against its model: the tables are those of the recorded costs, and the model adds up."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from tests.bench.scale import record, tables
from tests.bench.scale.model import BOUNDS, HEALTH, Break, Load, UnitCosts, breaks, start, usage

ONES = UnitCosts(**{field.name: 1.0 for field in fields(UnitCosts)})
FREE = UnitCosts(**{field.name: 1e-9 for field in fields(UnitCosts)})


def costs(**known: float) -> UnitCosts:
    """Almost everything is free."""
    return UnitCosts(**{**FREE.as_dict(), **known})


def test_the_page_has_what_the_script_prints() -> None:
    measured, origin = record.load()
    assert tables.found(tables.PAGE.read_text(encoding="utf-8")) == tables.sections(measured, origin)


def test_tables_are_put_into_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A\n\n<!-- table: units -->\nold\n<!-- end -->\n\nB\n\n<!-- table: points -->\n<!-- end -->\n")
    tables.write({"units": "| \\1 |\n"}, page)
    assert (
        page.read_text()
        == "# A\n\n<!-- table: units -->\n| \\1 |\n<!-- end -->\n\nB\n\n<!-- table: points -->\n<!-- end -->\n"
    )


def test_what_was_recorded_is_complete() -> None:
    measured, origin = record.load()
    assert "commit" in origin
    assert {point["what"] for point in measured.points} >= {"tails", "watchers", "pair"}
    with pytest.raises(ValueError, match="server_memory"):
        UnitCosts.parse({name: value for name, value in ONES.as_dict().items() if name != "server_memory"})
    with pytest.raises(ValueError, match="not unit costs"):
        UnitCosts.parse({**ONES.as_dict(), "server_memory": 0.0})


def test_each_tail_gets_each_write() -> None:
    used = usage(costs(etcd_write_cpu=100, etcd_event_cpu=20, etcd_event_bytes=2_500), Load(replicas=10, writes=50))
    assert used.etcd_events == 500
    assert used.etcd_bytes == 1_250_000
    assert used.etcd_cpu == pytest.approx((50 * 100 + 500 * 20) / 1e6)


def test_questions_are_those_of_reads_and_of_health() -> None:
    used = usage(costs(server_read_questions=0.25, etcd_question_cpu=40), Load(replicas=4, writes=3, reads=1_000))
    assert used.etcd_calls == 3 + 4 * HEALTH + 250
    assert used.etcd_cpu == pytest.approx(252 * 40 / 1e6)


def test_a_server_pays_for_its_writes_for_those_of_others_and_for_its_watchers() -> None:
    unit = costs(server_write_cpu=500, server_event_cpu=60, server_delivery_cpu=10, server_delivery_bytes=1_000)
    used = usage(unit, Load(replicas=4, writes=100, watchers=80, part=0.5))
    # 25 writes, 75 of others, and half of 100 events to each of 20 watchers
    assert used.server_cpu == pytest.approx((25 * 500 + 75 * 60 + 50 * 20 * 10) / 1e6)
    assert used.server_bytes == 50 * 20 * 1_000
    assert used.server_connections == 20
    alone = usage(unit, Load(replicas=1, writes=100))
    assert alone.server_cpu == pytest.approx(100 * 500 / 1e6)


def test_memory_disk_and_start() -> None:
    unit = costs(
        etcd_memory=1e6, etcd_tail_memory=1e3, etcd_object_memory=100, etcd_object_disk=200, etcd_revision_disk=10,
        server_memory=5e6, server_object_memory=300, server_watcher_memory=4e4,
        etcd_fill_cpu=3, etcd_fill_bytes=50, server_start_cpu=1e6, server_fill_cpu=20,
    )  # fmt: skip
    load = Load(replicas=2, objects=10_000, watchers=100, writes=1)
    used = usage(unit, load)
    assert used.etcd_memory == pytest.approx(1e6 + 2e3 + 1e6)
    assert used.etcd_disk == pytest.approx(2e6 + 600 * 10)
    assert used.server_memory == pytest.approx(5e6 + 3e6 + 2e6)
    begun = start(unit, load)
    assert begun.etcd_bytes == 1e6
    assert begun.etcd_cpu == pytest.approx(0.06)
    assert begun.server_cpu == pytest.approx(1.2)


def test_what_is_used_up_first() -> None:
    writer = costs(server_write_cpu=1_000)
    assert breaks(writer, Load(replicas=2)).bound == "a server's core"
    assert breaks(writer, Load(replicas=2)).writes == pytest.approx(2_000)
    tails = costs(etcd_event_cpu=40)
    first = breaks(tails, Load(replicas=1_000))
    assert first.bound == "etcd's four cores"
    assert first.writes == pytest.approx(100)
    full = costs(server_object_memory=4_000)
    assert breaks(full, Load(replicas=3, objects=2_000_000)) == Break("a server's 4 GB", 0.0)
    with_reads = costs(server_write_cpu=500, server_read_cpu=50)
    assert breaks(with_reads, Load(replicas=1, writes=1, reads=10)).writes == pytest.approx(1_000)


@pytest.mark.parametrize("title", tables.CASES)
def test_at_the_end_the_bound_is_reached_and_no_other_is_passed(title: str) -> None:
    measured, _ = record.load()
    load = tables.CASES[title]
    end = breaks(measured.costs, load)
    if not end.writes:
        return
    ratio = load.reads / load.writes if load.writes else 0.0
    more = {**{field.name: getattr(load, field.name) for field in fields(Load)}, "writes": end.writes}
    used = usage(measured.costs, Load(**{**more, "reads": end.writes * ratio}))
    shares = {bound: getattr(used, name) / most for bound, (name, most) in BOUNDS.items()}
    assert shares[end.bound] == pytest.approx(1)
    assert max(shares.values()) == pytest.approx(1)
