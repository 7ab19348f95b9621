# SPDX-License-Identifier: Apache-2.0
"""Tests that the proof finds each defect of a table, and nothing in sound tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.support.golden_tables import STATES, placed
from tests.support.proof import Replay, findings
from tests.support.statistics_claims import of_copies
from tests.support.table_files import COLUMN_ID, PHYSICAL_NAME
from tests.support.table_log import FEATURE, LIKE

Json = dict[str, Any]
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
    """Returns a function that replaces a text under one key of a kind of action."""

    def change(actions: Actions) -> None:
        for action in actions:
            if kind in action:
                text = json.dumps(action[kind][key])
                assert old in text
                action[kind][key] = json.loads(text.replace(old, new))

    return change


def property_(old: str, new: str) -> Callable[[Actions], object]:
    return changed("metaData", "configuration", old, new)


def schema(old: str, new: str) -> Callable[[Actions], object]:
    return changed("metaData", "schemaString", old, new)


TRUE, FALSE = 'Renamed": "true"', 'Renamed": "false"'
THIRD_ID = 'maxColumnId": "3"'
UUID = "col-deb4f250-c0d6-4076-9e38-d03204ca4594"
UNMAPPED, WITH_ID = '"metadata\\":{}', '"metadata\\":{\\"delta.columnMapping.id\\":1}'
PHYSICAL_CITY, PHYSICAL_TOWN = 'physicalName\\":\\"city', 'physicalName\\":\\"town'
# Maps the expected findings to the table, the version and the change.
COMMITS: dict[str, tuple[str, int, Callable[[Actions], object]]] = {
    "flag_too_early": ("unmapped", 0, property_(FALSE, TRUE)),
    "drop_without_flag": ("flag_true", 2, property_(TRUE, FALSE)),
    "flag_turned_back": ("flag_true", 4, property_(TRUE, FALSE)),
    "max_column_id_decreased": ("flag_true", 3, property_(THIRD_ID, 'maxColumnId": "2"')),
    "max_column_id_too_small max_column_id_decreased": (
        "flag_true",
        3,
        property_(THIRD_ID, 'maxColumnId": "1"'),
    ),
    "id_used_again field_ids": ("flag_true", 4, schema('.id\\":4', '.id\\":3')),
    "physical_name_used_again uuid_missing file_columns statistics_names": (
        "flag_true",
        4,
        schema(UUID, "note"),
    ),
    "physical_name_changed": ("flag_true", 3, schema(PHYSICAL_CITY, PHYSICAL_TOWN)),
    "mapping_keys_remain": ("mapped_again", 3, schema(UNMAPPED, WITH_ID)),
    "statistics_names copied_statistics": (
        "mapped_again",
        3,
        changed("add", "stats", "town", "city"),
    ),
    "statistics_values copied_statistics": (
        "mapped_again",
        3,
        changed("add", "stats", 'id\\":1', 'id\\":2'),
    ),
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
    write_commit(table, version, actions)
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
    "statistics_values values_changed": with_column("town", pa.array(["Oslo"])),
    "statistics_values file_types values_changed": with_column("town", pa.array([1])),
    "values_changed statistics_values": lambda rows: pa.concat_tables([rows, rows]),
}


@pytest.mark.parametrize("checks", FILES)
def test_defect_of_a_copied_file_is_found(tmp_path: Path, checks: str) -> None:
    table = placed(tmp_path / "golden") / "mapped_again"
    (file,) = table.glob("part-*.parquet")
    with pyarrow.parquet.ParquetFile(file) as source:
        rows = source.read()
    pyarrow.parquet.write_table(FILES[checks](rows), file)

    assert {each.check for each in findings(table)} == set(checks.split())


def field(name: str, kind: Any, id: int, physical: str | None = None) -> Json:
    mapping = {COLUMN_ID: id, PHYSICAL_NAME: physical or name}
    return {"name": name, "type": kind, "nullable": True, "metadata": mapping}


def in_file(name: str, kind: pa.DataType, id: int | None) -> pa.Field:
    return pa.field(name, kind, metadata={} if id is None else {"PARQUET:field_id": str(id)})


X, PRICE = field("x", "string", 3), field("price", "decimal(5,2)", 4)
SCHEMA = [
    field("id", "integer", 1),
    field("s", {"type": "struct", "fields": [X, PRICE]}, 2),
    field("at", "timestamp", 5),
    field("on", "date", 6),
    field("ratio", "float", 7),
]
STRUCT = pa.struct([in_file("x", pa.string(), 3), in_file("price", pa.decimal128(5, 2), 4)])
FILE = [
    in_file("id", pa.int32(), 1),
    in_file("s", STRUCT, 2),
    in_file("at", pa.timestamp("us", "UTC"), 5),
    in_file("on", pa.date32(), 6),
    in_file("ratio", pa.float32(), 7),
]
LONG = "b" * 40
ROWS = [
    {"id": 1, "s": {"x": LONG, "price": Decimal("1.20")}, "at": 0, "on": date(1970, 1, 1)},
    {"id": 2, "s": {"x": "é"}, "at": 1, "ratio": 0.1},
]
STATS: Json = {
    "numRecords": 2,
    "minValues": {"id": 1, "s": {"x": LONG[:32], "price": 1.2}, "on": "1970-01-01", "ratio": 0.1},
    "maxValues": {"id": 2, "s": {"x": "é", "price": 1.2}, "on": "1970-01-01", "ratio": 0.1},
    "nullCount": {"id": 0, "s": {"x": 0, "price": 1}, "at": 0, "on": 1, "ratio": 1},
}
CLUSTERED = {"domain": "delta.clustering", "removed": False}


def metadata(schema: list[Json], properties: Json) -> Json:
    text = json.dumps({"type": "struct", "fields": schema})
    return {"metaData": {"schemaString": text, "partitionColumns": [], "configuration": properties}}


def write_commit(table: Path, version: int, actions: Actions) -> None:
    file = table / "_delta_log" / f"{version:020}.json"
    file.write_text("".join(f"{json.dumps(action)}\n" for action in actions))


def clustered(*path: str) -> Json:
    columns = json.dumps({"clusteringColumns": [path]})
    return {"domainMetadata": {**CLUSTERED, "configuration": columns}}


def with_file_type(number: int, kind: pa.DataType) -> Json:
    return {"file": [*FILE[:number], FILE[number].with_type(kind), *FILE[number + 1 :]]}


def with_statistics(kind: str, name: str, value: object) -> Json:
    return {"stats": {**STATS, kind: {**STATS[kind], name: value}}}


OTHER_NAME: Json = {
    "schema": [field("id", "integer", 1, UUID), *SCHEMA[1:]],
    "file": [in_file(UUID, pa.int32(), 1), *FILE[1:]],
    "stats": {},
}
INFO = {"operation": "CREATE TABLE"}
BY_SPARK = {**INFO, "engineInfo": "Apache-Spark/4.2.0"}
WITHOUT_ID = {"file": [FILE[0], in_file("s", STRUCT, None), *FILE[2:]]}
PARTLY = pa.struct([in_file("x", pa.string(), 3), pa.field("price", STRUCT[1].type)])
WITHOUT_NESTED_ID = {"file": [FILE[0], in_file("s", PARTLY, 2), *FILE[2:]]}
OF_MORE_DIGITS = pa.struct([STRUCT[0], in_file("price", pa.decimal128(6, 3), 4)])
# The expected findings, and the parts in which a table of one commit and one file differs.
MADE: list[tuple[str, Json]] = [
    ("", {"domain": clustered("s", "x")}),
    ("clustering_columns", {"domain": clustered("s", "y")}),
    ("logical_name_missing", OTHER_NAME),
    ("", {**OTHER_NAME, "info": {**BY_SPARK, "userMetadata": LIKE}}),
    ("field_ids", WITHOUT_ID),
    ("", {**WITHOUT_ID, "info": INFO}),
    ("field_ids", WITHOUT_NESTED_ID),
    ("", {**WITHOUT_NESTED_ID, "info": INFO}),
    ("file_types statistics_values", with_file_type(0, pa.date32())),
    ("file_types", with_file_type(2, pa.int64())),
    ("file_types", with_file_type(1, OF_MORE_DIGITS)),
    ("statistics_values", with_statistics("minValues", "s", {"x": LONG[:30] + "a"})),
    ("statistics_values", with_statistics("maxValues", "s", {"x": "e"})),
    ("statistics_values", with_statistics("minValues", "s", {"price": 1.1})),
    ("statistics_values", with_statistics("nullCount", "s", {"price": 0})),
    ("statistics_values", with_statistics("maxValues", "on", "1970-01-02")),
    ("statistics_values", with_statistics("minValues", "ratio", 0.2)),
]


@pytest.mark.parametrize(("checks", "parts"), MADE)
def test_defect_of_a_new_table_is_found(tmp_path: Path, checks: str, parts: Json) -> None:
    (tmp_path / "_delta_log").mkdir()
    rows = pa.Table.from_pylist(ROWS, pa.schema(parts.get("file", FILE)))
    pyarrow.parquet.write_table(rows, tmp_path / "a.parquet")
    add = {"path": "a.parquet", "partitionValues": {}, "size": 1, "dataChange": True}
    mapping = {"mode": "name", "maxColumnId": "7", "hasDroppedOrRenamed": "false"}
    properties = {f"delta.columnMapping.{key}": value for key, value in mapping.items()}
    actions: Actions = [
        {"commitInfo": parts.get("info", BY_SPARK)},
        {"protocol": {"writerFeatures": [FEATURE]}},
        metadata(parts.get("schema", SCHEMA), properties),
        {"add": add | {"stats": json.dumps(parts.get("stats", STATS))}},
        *([parts["domain"]] if "domain" in parts else []),
    ]
    write_commit(tmp_path, 0, actions)

    assert {each.check for each in findings(tmp_path)} == set(checks.split())


@pytest.mark.parametrize(
    ("operation", "checks"), [("WRITE", {"field_ids"}), ("OPTIMIZE", set()), ("REORG", set())]
)
def test_missing_field_id_is_found_unless_the_commit_may_rewrite_a_file_older_than_mapping(
    tmp_path: Path, operation: str, checks: set[str]
) -> None:
    (tmp_path / "_delta_log").mkdir()
    rows = pa.table({"id": pa.array([1], pa.int32())})
    old, new = ({"path": f"{name}.parquet", "dataChange": False} for name in ("old", "new"))
    for file in (old, new):
        pyarrow.parquet.write_table(rows, tmp_path / str(file["path"]))
    added = {"partitionValues": {}, "size": 1}
    plain = {"name": "id", "type": "integer", "nullable": True, "metadata": {}}
    mapping = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}
    spark = {"engineInfo": "Apache-Spark/4.2.0"}
    commits: list[Actions] = [
        [{"commitInfo": spark}, {"protocol": {}}, metadata([plain], {}), {"add": old | added}],
        [
            {"commitInfo": {**spark, "readVersion": 0}},
            metadata([field("id", "integer", 1)], mapping),
        ],
        [
            {"commitInfo": {**spark, "operation": operation, "readVersion": 1}},
            {"remove": old},
            {"add": new | added},
        ],
    ]
    for version, actions in enumerate(commits):
        write_commit(tmp_path, version, actions)

    assert {each.check for each in findings(tmp_path)} == checks


def test_copies_with_swapped_statistics_or_partition_values_are_found() -> None:
    schema = [field("a", "string", 1), field("b", "string", 2)]
    metadata = {"schemaString": json.dumps({"type": "struct", "fields": schema})}

    def claims(minimum: Json, values: Json) -> list[Any]:
        source = {
            "partitionValues": {"a": "1", "b": "2"},
            "stats": json.dumps({"minValues": {"a": "x"}}),
        }
        copy = {"partitionValues": values, "stats": json.dumps({"minValues": minimum})}
        return [check for check, _ in of_copies((metadata, [source]), (metadata, [copy]))]

    assert claims({"a": "x"}, {"a": "1", "b": "2"}) == []
    assert claims({"b": "x"}, {"a": "1", "b": "2"}) == ["copied_statistics"]
    assert claims({"a": "x"}, {"a": "2", "b": "1"}) == ["copied_statistics"]


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
    fifth.write_text(later.replace("col-", "cal-"))
    assert {each.check for each in replay.findings()} == {"statistics_names"}
    fifth.write_text(later)
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
