# SPDX-License-Identifier: Apache-2.0
"""Tests that the proof finds each defect of a golden table, and nothing in the golden tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.support.golden_tables import STATES, placed
from tests.support.proof import Replay, findings

Actions = list[dict[str, Any]]

DEFECTIVE = {
    "broken_flag_missing": {"feature_without_flag"},
    "broken_flag_turned_back": {"flag_turned_back"},
    "broken_flag_value": {"flag_not_boolean"},
    "flag_false_other_name": {"logical_name_missing"},
    "stale": {"flag_without_feature"},
}


def test_golden_tables_have_no_finding_unless_they_are_broken(tmp_path: Path) -> None:
    tables = placed(tmp_path / "golden")

    found = {name: {each.check for each in findings(tables / name)} for name in STATES}

    assert found == {name: DEFECTIVE.get(name, set()) for name in STATES}


def changed(kind: str, key: str, old: str, new: str) -> Callable[[Actions], object]:
    """Replaces a text in the values of one kind of action."""

    def change(actions: Actions) -> None:
        for action in actions:
            if kind in action:
                text = json.dumps(action[kind][key])
                assert old in text
                action[kind][key] = json.loads(text.replace(old, new))

    return change


def flag(old: str, new: str) -> Callable[[Actions], object]:
    return changed("metaData", "configuration", f'Renamed": "{old}"', f'Renamed": "{new}"')


# The table, the version and the change, by the findings.
COMMITS: dict[str, tuple[str, int, Callable[[Actions], object]]] = {
    "flag_too_early": ("flag_true", 0, flag("false", "true")),
    "drop_without_flag": ("flag_true", 2, flag("true", "false")),
    "flag_turned_back": ("flag_true", 4, flag("true", "false")),
    "max_column_id_decreased": (
        "flag_true",
        3,
        changed("metaData", "configuration", 'maxColumnId": "3"', 'maxColumnId": "2"'),
    ),
    "max_column_id_too_small max_column_id_decreased": (
        "flag_true",
        3,
        changed("metaData", "configuration", 'maxColumnId": "3"', 'maxColumnId": "1"'),
    ),
    "id_used_again field_ids": (
        "flag_true",
        4,
        changed("metaData", "schemaString", '.id\\":4', '.id\\":3'),
    ),
    "physical_name_used_again uuid_missing file_columns statistics_names": (
        "flag_true",
        4,
        changed("metaData", "schemaString", "col-deb4f250-c0d6-4076-9e38-d03204ca4594", "note"),
    ),
    "physical_name_changed": (
        "flag_true",
        3,
        changed("metaData", "schemaString", 'physicalName\\":\\"city', 'physicalName\\":\\"town'),
    ),
    "mapping_keys_remain": (
        "mapped_again",
        3,
        changed(
            "metaData",
            "schemaString",
            '"metadata\\":{}',
            '"metadata\\":{\\"delta.columnMapping.id\\":1}',
        ),
    ),
    "statistics_names": ("mapped_again", 3, changed("add", "stats", "town", "city")),
    "statistics_values": ("mapped_again", 3, changed("add", "stats", 'id\\":1', 'id\\":2')),
    "partition_values": ("mapped_again", 3, changed("add", "partitionValues", "{}", '{"p": "1"}')),
    "path_twice": ("mapped_again", 3, lambda actions: actions.append(actions[-2])),
    "action_twice": ("mapped_again", 3, lambda actions: actions.append(actions[0])),
    "log_without_start": ("mapped_again", 3, list.clear),
}


@pytest.mark.parametrize("checks", COMMITS)
def test_defect_of_a_commit_is_found(tmp_path: Path, checks: str) -> None:
    name, version, change = COMMITS[checks]
    table = placed(tmp_path / "golden") / name
    file = table / "_delta_log" / f"{version:020}.json"
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    change(actions)
    file.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    if not actions:
        file.unlink()

    assert {each.check for each in findings(table)} == set(checks.split())


def with_field_id(column: str, id: int) -> Callable[[pa.Table], pa.Table]:
    def change(rows: pa.Table) -> pa.Table:
        place = rows.schema.get_field_index(column)
        field = rows.schema.field(place).with_metadata({"PARQUET:field_id": str(id)})
        return rows.cast(rows.schema.set(place, field))

    return change


def with_column(name: str, values: pa.Array) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: rows.drop_columns({name} & {*rows.column_names}).append_column(name, values)


FILES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "field_ids": with_field_id("town", 7),
    "file_columns": with_column("city", pa.array(["Rome"])),
    "values_changed": with_column("town", pa.array(["Oslo"])),
    "file_types values_changed": with_column("town", pa.array([1])),
    "statistics_values values_changed": lambda rows: pa.concat_tables([rows, rows]),
}


@pytest.mark.parametrize("checks", FILES)
def test_defect_of_a_copied_file_is_found(tmp_path: Path, checks: str) -> None:
    table = placed(tmp_path / "golden") / "mapped_again"
    (file,) = table.glob("part-*.parquet")
    with pyarrow.parquet.ParquetFile(file) as source:
        rows = source.read()
    pyarrow.parquet.write_table(FILES[checks](rows), file)

    assert {each.check for each in findings(table)} == set(checks.split())


def test_missing_and_unreadable_files_are_found(tmp_path: Path) -> None:
    table = placed(tmp_path / "golden") / "mapped_again"
    first, second = table.rglob("v6/*.parquet"), table.glob("part-*.parquet")
    next(first).unlink()
    next(second).write_bytes(b"no Parquet")

    assert {each.check for each in findings(table)} == {"file_missing", "file_unreadable"}


def test_replay_reads_new_commits_and_begins_again_after_a_change(tmp_path: Path) -> None:
    table = placed(tmp_path / "golden") / "flag_true"
    first, fourth, fifth = (table / "_delta_log" / f"{version:020}.json" for version in (0, 4, 5))
    later = fifth.read_text()
    fifth.unlink()
    replay = Replay(table)

    assert replay.findings() == []
    fifth.write_text(later.replace("minValues", "maxValues"))
    assert replay.findings() == []
    fourth.write_text(fourth.read_text().replace('Renamed":"true"', 'Renamed":"false"'))
    assert {each.check for each in replay.findings()} == {"flag_turned_back"}
    first.unlink()
    assert {each.check for each in replay.findings()} == {"log_without_start"}


def test_staged_commits_are_read_until_a_version_has_two(tmp_path: Path) -> None:
    table = placed(tmp_path / "golden") / "flag_true"
    staged = table / "_delta_log" / "_staged_commits"
    staged.mkdir()
    for version in (4, 5):
        published = table / "_delta_log" / f"{version:020}.json"
        published.rename(staged / f"{version:020}.a.json")
    fourth = staged / f"{4:020}.a.json"
    fourth.write_text(fourth.read_text().replace('Renamed":"true"', 'Renamed":"false"'))

    assert {each.check for each in findings(table)} == {"flag_turned_back"}
    shutil.copy(fourth, staged / f"{4:020}.b.json")
    assert findings(table) == []
