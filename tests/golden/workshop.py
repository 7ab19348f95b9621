# SPDX-License-Identifier: Apache-2.0
"""Makes sound tables, and breaks them by editing files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import deltalake
import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession

from tests.support.delta_table import ID_MODE, NAME_MODE, TRACKED
from tests.support.removal import live
from tests.support.session_conf import session_conf
from tests.support.table_log import TableLog
from tests.support.vectors import file_of

Json = dict[str, Any]

_ARROW = {"integer": pa.int32(), "string": pa.string()}

# Sound tables by the statements that make them.
TABLES = {
    "tracked": [
        f"CREATE TABLE {{t}} (a INT, b STRING) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE})",
        "INSERT INTO {t} VALUES (1, 'x')",
        "ALTER TABLE {t} ADD COLUMN c INT",
        "INSERT INTO {t} VALUES (2, 'y', 3)",
    ],
    "dropped": [
        f"CREATE TABLE {{t}} (a INT, b STRING) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE})",
        "INSERT INTO {t} VALUES (1, 'x')",
        "ALTER TABLE {t} DROP COLUMN b",
        "ALTER TABLE {t} ADD COLUMN d INT",
        "ALTER TABLE {t} DROP COLUMN d",
    ],
    "by_id": [
        f"CREATE TABLE {{t}} (a INT) USING delta TBLPROPERTIES ({TRACKED}, {ID_MODE})",
        "INSERT INTO {t} VALUES (1)",
    ],
    "unmapped": [
        "CREATE TABLE {t} (a INT, p STRING) USING delta PARTITIONED BY (p)",
        "INSERT INTO {t} VALUES (1, 'x')",
    ],
    "nested": [
        "CREATE TABLE {t} (s STRUCT<x: INT, y: ARRAY<STRUCT<z: INT>>>,"
        " m MAP<STRING, STRUCT<v: INT>>, `p%q` STRING) USING delta PARTITIONED BY (`p%q`)"
        f" TBLPROPERTIES ({TRACKED},"
        " 'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2')",
        "INSERT INTO {t} SELECT named_struct('x', 1, 'y', array(named_struct('z', 2))),"
        " map('k', named_struct('v', 3)), 'a=b c'",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "ALTER TABLE {t} ADD COLUMN s.w INT",
        "INSERT INTO {t} SELECT named_struct('x', 1, 'y', array(named_struct('z', 2)), 'w', 3),"
        " map('k', named_struct('v', 3)), 'd'",
    ],
    "vectors": [
        f"CREATE TABLE {{t}} (a INT) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE},"
        " 'delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true')",
        "INSERT INTO {t} SELECT CAST(id AS INT) FROM range(10)",
        "DELETE FROM {t} WHERE a = 3",
        "UPDATE {t} SET a = 11 WHERE a = 4",
        "ALTER TABLE {t} ADD COLUMN b INT",
    ],
    "checkpointed": [
        f"CREATE TABLE {{t}} (a INT) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE},"
        " 'delta.checkpointInterval' = '2')",
        "INSERT INTO {t} VALUES (1)",
        "INSERT INTO {t} VALUES (2)",
        "INSERT INTO {t} VALUES (3)",
    ],
    "structs": [
        "CREATE TABLE {t} (a INT, s STRUCT<x: INT, d: DATE>, b STRING) USING delta TBLPROPERTIES ("
        "'delta.checkpointInterval' = '2', 'delta.checkpoint.writeStatsAsStruct' = 'true',"
        " 'delta.checkpoint.writeStatsAsJson' = 'false')",
        "INSERT INTO {t} VALUES (1, named_struct('x', 1, 'd', DATE '1500-01-01'), NULL)",
        "INSERT INTO {t} VALUES (2, named_struct('x', NULL, 'd', DATE '2026-11-25'), 'y')",
    ],
}


class Workshop:
    """Makes tables in a folder by a session with spark-ext."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self._folder = folder
        self._made: dict[str, Path] = {}
        self._odd: list[Path] = []
        self.spark = spark

    def sound(self, kind: str) -> Path:
        """Returns a sound table of `TABLES`, made once."""
        if kind not in self._made:
            path = self._folder / "sound" / kind
            for statement in TABLES[kind]:
                self.spark.sql(statement.format(t=f"delta.`{path}`"))
            self._made[kind] = path
        return self._made[kind]

    def odd(self) -> list[Path]:
        """Returns sound tables that Delta alone seldom or never writes."""
        if not self._odd:
            self._odd += [
                self.compacted(),
                self.cleaned(),
                self.in_parts(),
                self.with_checkpoint_of_deltalake(),
            ]
        return self._odd

    def compacted(self) -> Path:
        """Returns a table with log compaction files of all versions, and of version 1 alone."""
        table = self.copy("tracked", "compacted")
        log = table / "_delta_log"
        commits = sorted(log.glob("[0-9]*.json"))
        for first, last in ((0, len(commits) - 1), (1, 1)):
            # The last action of each kind and path remains.
            kept: dict[str, Json] = {}
            for file in commits[first : last + 1]:
                for line in file.read_text().splitlines():
                    action = json.loads(line)
                    (kind,) = action
                    if kind != "commitInfo":
                        kept[kind if kind != "add" else action["add"]["path"]] = action
            compacted = log / f"{first:020}.{last:020}.compacted.json"
            compacted.write_text("".join(f"{json.dumps(each)}\n" for each in kept.values()))
        return table

    def cleaned(self) -> Path:
        """Returns a table whose commits up to the checkpoint are deleted."""
        table = self.copy("checkpointed", "cleaned")
        log = table / "_delta_log"
        version = int(min(log.glob("*.checkpoint.parquet")).name[:20])
        for file in sorted(log.glob("[0-9]*.json")):
            if int(file.stem) <= version:
                file.unlink()
        return table

    def with_checkpoint_of_deltalake(self) -> Path:
        """Returns a table whose only checkpoint is written by deltalake."""
        table = self.copy("tracked", "deltalake")
        forget_checksums(table)
        deltalake.DeltaTable(table).create_checkpoint()
        return table

    def in_parts(self) -> Path:
        """Returns a table whose newest checkpoint has two parts."""
        table = self.copy("checkpointed", "in_parts")
        jvm: Any = self.spark._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog
        with session_conf(self.spark, {"spark.databricks.delta.checkpoint.partSize": "2"}):
            log.forTable(self.spark._jsparkSession, str(table)).checkpoint()
        assert len(list((table / "_delta_log").glob(f"{3:020}.checkpoint.*.parquet"))) > 1
        return table

    def logged(self, table: Path) -> Json:
        """Returns the log of a table as the JVM sends it to the rule process."""
        jvm: Any = self.spark._jvm
        session = self.spark._jsparkSession
        place = jvm.org.apache.hadoop.fs.Path(str(table))
        configuration = session.sessionState().newHadoopConf()
        log = jvm.sparkext.log.TableReading(session, configuration, place, jvm.java.util.List.of())
        question = jvm.sparkext.wire.Question.TableQuestion("t", log.liveFiles(None))
        return json.loads(question.json())["log"]

    def place(self, name: str) -> Path:
        """Returns the path of a broken table."""
        path = self._folder / "broken" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def copy(self, kind: str, name: str) -> Path:
        """Copies a sound table, to be broken."""
        shutil.copytree(self.sound(kind), self.place(name))
        return self.place(name)


def commit_metadata(table: Path, change: Callable[[Json], None]) -> None:
    """Commits the newest metadata with a change, as a writer without our rules would."""
    log = TableLog(table)
    metadata = json.loads(json.dumps(log.metadata))
    change(metadata)
    log.append_foreign({"metaData": metadata})


def commit_properties(table: Path, **properties: str | None) -> None:
    """Commits properties of `delta.columnMapping.`; None removes a property."""
    commit_metadata(table, lambda metadata: change_properties(metadata, **properties))


def change_properties(metadata: Json, **properties: str | None) -> None:
    for name, value in properties.items():
        key = f"delta.columnMapping.{name}"
        metadata["configuration"].pop(key, None)
        if value is not None:
            metadata["configuration"][key] = value


def commit_columns(table: Path, change: Callable[[list[Json]], object]) -> None:
    """Commits the top-level columns with a change."""
    commit_metadata(table, lambda metadata: change_columns(metadata, change))


def change_columns(metadata: Json, change: Callable[[list[Json]], object]) -> None:
    schema = json.loads(metadata["schemaString"])
    change(schema["fields"])
    metadata["schemaString"] = json.dumps(schema)


def commit_protocol(table: Path, **values: Any) -> None:
    log = TableLog(table)
    protocol = {**log.protocol, **values}
    log.append_foreign(
        {"protocol": {key: value for key, value in protocol.items() if value is not None}}
    )


def commit_file(table: Path, row: Json, names: Mapping[str, str]) -> None:
    """Commits a file of another writer, with the ids of the columns and some other names.

    The statistics have the physical names, as the protocol demands in both modes.
    """
    log = TableLog(table)
    schema = pa.schema(
        pa.field(
            names.get(name, str(field.physical_name)),
            _ARROW[field.type],
            metadata={"PARQUET:field_id": str(field.id)},
        )
        for name, field in log.fields.items()
    )
    file = table / f"part-{log.version + 1:05}-{uuid4()}.parquet"
    arrays = [
        pa.array([row[name]], field.type) for name, field in zip(log.fields, schema, strict=True)
    ]
    pyarrow.parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), file)
    values = {str(field.physical_name): row[name] for name, field in log.fields.items()}
    stats = {"numRecords": 1, "minValues": values, "maxValues": values}
    stats["nullCount"] = dict.fromkeys(values, 0)
    log.append_foreign(
        {
            "add": {
                "path": file.name,
                "partitionValues": {},
                "size": file.stat().st_size,
                "modificationTime": 0,
                "dataChange": True,
                "stats": json.dumps(stats),
            }
        }
    )


def column(name: str, id: int, physical_name: str) -> Json:
    return {
        "name": name,
        "type": "integer",
        "nullable": True,
        "metadata": {
            "delta.columnMapping.id": id,
            "delta.columnMapping.physicalName": physical_name,
        },
    }


def edit_adds(table: Path, change: Callable[[Json], None]) -> None:
    """Changes every `add` action of the log in its file."""
    for file in sorted((table / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                change(action["add"])
        file.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    forget_checksums(table)


def forget_checksums(table: Path) -> None:
    """Deletes the checksums of Hadoop and Delta."""
    for file in (table / "_delta_log").glob("*.crc"):  # also names that start with a dot
        file.unlink()


def data_files(table: Path) -> list[Path]:
    return [table / path for path in TableLog(table).live_files]


def vector_files(table: Path) -> list[Path]:
    """Returns the files of the deletion vectors of a table."""
    found = [add.get("deletionVector") for add in live(TableLog(table)).values()]
    return [file_of(table, vector) for vector in found if vector]


def change_last_byte(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    _forget_checksum(file)


def rewrite(table: Path, columns: Callable[[pa.Table], pa.Table]) -> None:
    """Rewrites a data file, and changes its size in the log."""
    file = data_files(table)[0]
    found = pyarrow.parquet.ParquetFile(file).read()
    pyarrow.parquet.write_table(columns(found), file)
    _forget_checksum(file)

    def resize(add: Json) -> None:
        if table / add["path"] == file:
            add["size"] = file.stat().st_size

    edit_adds(table, resize)


def rewrite_checkpoint(table: Path, change: Callable[[Json], None]) -> Path:
    """Changes every row of the newest classic checkpoint, and keeps its types."""
    file = max((table / "_delta_log").glob("*.checkpoint.parquet"))
    rows = pyarrow.parquet.read_table(file)
    changed = rows.to_pylist()
    for row in changed:
        change(row)
    pyarrow.parquet.write_table(pa.Table.from_pylist(changed, schema=rows.schema), file)
    _forget_checksum(file)
    return file


def rename_statistics(table: Path, old: str, new: str) -> None:
    """Renames a column in the `stats_parsed` of the newest checkpoint."""
    file = max((table / "_delta_log").glob("*.checkpoint.parquet"))
    rows = pyarrow.parquet.read_table(file)

    def renamed(kind: pa.DataType) -> pa.DataType:
        return pa.struct(
            field.with_name(new if field.name == old else field.name) for field in kind.fields
        )

    def changed(field: pa.Field) -> pa.Field:
        if pa.types.is_struct(field.type):
            kinds = [changed(each) for each in field.type.fields]
            field = field.with_type(pa.struct(kinds))
        by_column = ("minValues", "maxValues", "nullCount")
        return field.with_type(renamed(field.type)) if field.name in by_column else field

    # Columns are found by position, because Arrow finds the fields of a struct by name.
    columns = []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        columns.append(_recast(column.combine_chunks(), changed(field).type))
    schema = pa.schema([changed(field) for field in rows.schema])
    pyarrow.parquet.write_table(pa.Table.from_arrays(columns, schema=schema), file)
    _forget_checksum(file)


def _recast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if not pa.types.is_struct(kind):
        return values
    inner = [_recast(values.field(place), field.type) for place, field in enumerate(kind.fields)]
    return pa.StructArray.from_arrays(inner, fields=list(kind.fields), mask=values.is_null())


def cut(file: Path) -> None:
    """Removes the last 20 bytes of a file."""
    file.write_bytes(file.read_bytes()[:-20])
    _forget_checksum(file)


def truncate_commit(table: Path, version: int) -> None:
    """Truncates the last line of a commit."""
    file = table / "_delta_log" / f"{version:020}.json"
    file.write_text(file.read_text().rstrip("\n")[:-9])
    forget_checksums(table)


def _forget_checksum(file: Path) -> None:
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def checkpoints(table: Path) -> Iterator[Path]:
    yield from sorted((table / "_delta_log").glob("*.checkpoint*"))
