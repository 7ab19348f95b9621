# SPDX-License-Identifier: Apache-2.0
"""Tests unreadable files, copies that are stopped, and the memory and the files of a copy."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.parquet.columns import Column, plan
from tests.parquet.renamer import BY, DISK, STREAM, NotParquetError, Outcome, Renamer
from tests.support.parquet_file import BLOOM, BLOOM_LENGTH, COLUMN_INDEX, OFFSET_INDEX, ParquetFile

pytestmark = pytest.mark.every_variant  # each takes well under a second

A = Column(1, "col-a", "a", pa.int64())
B = Column(2, "col-b", "b", pa.string())
RENAME, DROP = plan((A, B)), plan((A,))
TABLE = pa.table({"col-a": range(1000), "col-b": [f"b{n}" for n in range(1000)]})
MIB = 1 << 20
Change = Callable[[bytes], bytes | None]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "source.parquet"
    pq.write_table(TABLE, file)
    return file


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "copy.parquet"


@pytest.fixture(params=BY)
def by(request: pytest.FixtureRequest) -> str:
    return request.param


# Unreadable files

NO_FOOTER = "it does not end with a footer"
BROKEN = "its footer cannot be read"
# A footer in Thrift's bytes: two elements of a schema, no rows and no row groups.
ROOT, COLUMN, NO_GROUPS = "1502 192c 48016d150200", "1502 2502 180161 00", "1600 190c 00"
MINUS_1, HUGE = "ffffffffffffffffff01", "ffffffff07"  # HUGE is 2^31-1
FOOTERS = {
    "a list of -1 elements": f"{ROOT} {COLUMN} 1600 19fc {MINUS_1} 00",
    "an unknown list of -1 elements": f"{ROOT} {COLUMN} 1600 190c d9fc {MINUS_1} 00",
    "an unknown map of -1 elements": f"{ROOT} {COLUMN} 1600 190c db {MINUS_1} cc 00",
    "a number above 32 bits": f"{ROOT} 1502 258480808020 180161 00 {NO_GROUPS}",
    "a name of 2 GiB": f"{ROOT} 1502 2502 18{HUGE} 61 00 {NO_GROUPS}",
    "a list of 2^31-1 row groups": f"{ROOT} {COLUMN} 1600 19fc {HUGE} 00",
    "a list of 2^31-1 names": f"{ROOT} {COLUMN} 1600 191c 191c 3c 2902 19f8 {HUGE} 61",
    "an unknown binary of 2 GiB": f"{ROOT} {COLUMN} 1600 190c d8 {HUGE} 00",
    "an unknown list of 2^31-1 elements": f"{ROOT} {COLUMN} 1600 190c d9fc {HUGE} 00",
    "an unknown map of 2^31-1 entries": f"{ROOT} {COLUMN} 1600 190c db {HUGE} 88 00",
    "unknown structures of many levels": f"{ROOT} {COLUMN} 1600 190c dc {'1c' * 100_000}",
    "unknown lists of many levels": f"{ROOT} {COLUMN} 1600 190c d9 {'19' * 100_000}",
}


def of_footer(footer: bytes, length: int | None = None) -> bytes:
    end = struct.pack("<i", len(footer) if length is None else length)
    return b"PAR1" + footer + end + b"PAR1"


def part(share: float) -> Change:
    return lambda data: data[: int(len(data) * share)]


def with_length(length: int) -> Change:
    """Changes the length of the footer at the end of the file."""
    return lambda data: data[:-8] + of_footer(b"", length)[4:]


def only(data: bytes) -> Change:
    return lambda _: data


# How a file is changed, and why it is unreadable; None if it is deleted.
UNREADABLE: dict[str, tuple[Change, str]] = {
    "missing": (lambda _: None, "it does not exist"),
    "empty": (only(b""), "it has 0 bytes"),
    "4 bytes": (only(b"PAR1"), "it has 4 bytes"),
    "8 bytes": (only(b"PAR1PAR1"), "it has 8 bytes"),
    **{f"{share:.1%} of it": (part(share), NO_FOOTER) for share in (0.02, 0.5, 0.999)},
    **{
        f"a footer of {length} bytes": (with_length(length), NO_FOOTER)
        for length in (-1, -(1 << 31), (1 << 31) - 1, 10**6)
    },
    **{
        f"{length} wrong bytes": (only(of_footer(b"\x9c" * length)), BROKEN)
        for length in (0, 1, 20, 3000)
    },
    **{name: (only(of_footer(bytes.fromhex(text))), BROKEN) for name, text in FOOTERS.items()},
}


def reason(renamer: Renamer, source: Path, target: Path, **options: Any) -> str:
    """Returns why a file is unreadable. Reading the footer and copying must agree."""
    with pytest.raises(NotParquetError) as looked:
        renamer.look(source, RENAME, **options)
    with pytest.raises(NotParquetError) as copied:
        renamer.copy(source, target, RENAME, **options)
    assert str(looked.value) == str(copied.value)
    assert not target.exists()
    return str(copied.value)


@pytest.mark.parametrize(("change", "expected"), UNREADABLE.values(), ids=UNREADABLE)
def test_invalid_file_is_unreadable_in_little_memory(
    renamer: Renamer,
    source: Path,
    target: Path,
    by: str,
    change: Change,
    expected: str,
) -> None:
    data = change(source.read_bytes())
    source.unlink() if data is None else source.write_bytes(data)
    options = {"by": by, "size": 99 if data is None else len(data)}
    assert reason(renamer, source, target, **options) == expected  # it loads the classes
    assert allocated(renamer, lambda: reason(renamer, source, target, **options)) < 4 * MIB


def allocated(renamer: Renamer, call: Callable[[], object]) -> int:
    """Returns the bytes that the JVM's thread allocates during a call."""
    threads = renamer.jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    before = threads.getCurrentThreadAllocatedBytes()
    call()
    return int(threads.getCurrentThreadAllocatedBytes() - before)


def test_file_with_another_length_than_in_the_log_is_unreadable(
    renamer: Renamer, source: Path, target: Path, by: str
) -> None:
    size = source.stat().st_size
    assert reason(renamer, source, target, by=by, size=size - 5) == NO_FOOTER
    os.truncate(source, size // 2)
    short = f"it has fewer than {size} bytes"
    assert reason(renamer, source, target, by=by, size=size) == short


def test_file_without_field_ids_is_unreadable_in_mode_id(renamer: Renamer, source: Path) -> None:
    with pytest.raises(NotParquetError, match="field ids"):
        renamer.look(source, plan((A, B), by_id=True))


def test_schema_of_too_many_levels_is_rewritten(renamer: Renamer, source: Path) -> None:
    level, number = "3502 180161 1502 00", 3000
    elements = f"1502 19fc {number + 2 & 0x7F | 0x80:02x}{number + 2 >> 7:02x} 48016d150200"
    footer = f"{elements} {level * number} {COLUMN} {NO_GROUPS}"
    source.write_bytes(of_footer(bytes.fromhex(footer)))
    found = renamer.look(source, RENAME)
    assert (found.way, found.reason) == ("TO_REWRITE", "its schema has more than 200 levels")


def test_damaged_file_has_the_same_outcome_when_read_and_when_copied(
    renamer: Renamer, source: Path, tmp_path: Path
) -> None:
    def outcome_of(call: Callable[..., Outcome], *arguments: Any) -> tuple[str, str | None]:
        try:
            outcome = call(source, *arguments, DROP)
            return outcome.way, outcome.reason
        except NotParquetError as unreadable:
            return "UNREADABLE", str(unreadable)

    filters = {"col-a": {"ndv": 50}, "col-b": {"ndv": 50}}
    options: Any = {"data_page_size": 500, "bloom_filter_options": filters}
    pq.write_table(TABLE, source, write_page_index=True, **options)
    file = ParquetFile.of(source)
    for column in file.columns:
        column.drop(BLOOM_LENGTH)
    data = file.bytes()
    indexes = min(chunk[COLUMN_INDEX] for chunk in file.chunks)
    assert indexes < min(chunk[OFFSET_INDEX] for chunk in file.chunks)
    first_filter = min(column[BLOOM] for column in file.columns)
    footer = (len(file.body), len(data) - 8)
    damaged = (first_filter, first_filter + 20), (indexes, len(file.body)), footer, footer
    random = Random(6)
    ways = set()
    for number in range(200):
        at, length = random.randrange(*damaged[number % 4]), 1 + number % 3
        changed = data[:at] + random.randbytes(length) + data[at + length :]
        source.write_bytes(changed[: len(data)])
        target = tmp_path / f"{number}.parquet"
        looked = outcome_of(renamer.look)
        assert outcome_of(renamer.copy, target) == looked
        assert target.exists() == (looked[0] == "COPIED")
        target.unlink(missing_ok=True)
        ways.add(looked[0])
    assert ways == {"UNREADABLE", "TO_REWRITE", "COPIED"}


# Copies that are stopped


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes a file of two columns of 18 MiB each."""
    file = tmp_path_factory.mktemp("large") / "large.parquet"
    numbers = pa.array(range(18 * MIB // 8))
    table = pa.table({"col-a": numbers, "col-b": numbers})
    pq.write_table(table, file, compression="none", use_dictionary=False, write_statistics=False)
    return file


def runnable(renamer: Renamer, target: Any, method: str) -> Any:
    """Returns a Runnable that calls a method of a Java object."""
    java = renamer.jvm.java
    return java.beans.EventHandler.create(
        java.lang.Class.forName("java.lang.Runnable"), target, method
    )


# The body is copied in pieces of 16 MiB by the kernel, and of 1 MiB by a buffer.
@pytest.mark.parametrize("each", [RENAME, DROP], ids=["rename", "drop"])
@pytest.mark.parametrize(("by", "calls"), [(DISK, 0), (DISK, 1), (STREAM, 0), (STREAM, 15)])
def test_stopped_copy_leaves_no_file(
    renamer: Renamer, large: Path, target: Path, by: str, calls: int, each: Any
) -> None:
    items = renamer.jvm.java.util.Collections.nCopies(calls, "").iterator()
    stop = runnable(renamer, items, "next")
    with pytest.raises(Py4JJavaError) as stopped:
        renamer.copy(large, target, each, by=by, checkpoint=stop)
    assert "NoSuchElementException" in str(stopped.value.java_exception)
    assert list(target.parent.iterdir()) == []
    assert not items.hasNext()  # the copy used all its runs


def test_copy_fails_when_its_source_is_truncated_meanwhile(
    renamer: Renamer, large: Path, source: Path, target: Path, by: str
) -> None:
    shutil.copy(large, source)
    size = source.stat().st_size
    truncate = renamer.jvm.java.lang.ProcessBuilder(["truncate", "-s", "5M", str(source)])
    checkpoint = runnable(renamer, truncate, "start.waitFor")
    with pytest.raises(NotParquetError, match=f"it has fewer than {size} bytes"):
        renamer.copy(source, target, DROP, by=by, checkpoint=checkpoint)
    assert list(target.parent.iterdir()) == []


def test_interrupted_thread_leaves_no_file(renamer: Renamer, source: Path, target: Path) -> None:
    thread = renamer.jvm.java.lang.Thread
    # Spark interrupts a task that it kills.
    interrupt = runnable(renamer, thread.currentThread(), "interrupt")
    with pytest.raises(Py4JJavaError, match="ClosedByInterruptException"):
        renamer.copy(source, target, DROP, checkpoint=interrupt)
    assert thread.interrupted(), "the thread is no longer interrupted"
    assert list(target.parent.iterdir()) == []


def test_copy_does_not_overwrite_an_existing_file(
    renamer: Renamer, source: Path, target: Path, by: str
) -> None:
    target.parent.mkdir(parents=True)
    target.write_text("somebody's")
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        renamer.copy(source, target, DROP, by=by)
    assert target.read_text() == "somebody's"
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        renamer.copy(source, source, RENAME, by=by)
    assert pq.read_table(source) == TABLE


def test_copy_fails_when_its_folder_cannot_be_created(
    renamer: Renamer, source: Path, tmp_path: Path, by: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Py4JJavaError, match=r"FileAlreadyExists|ParentNotDirectory|NotDirectory"):
        renamer.copy(source, tmp_path / "file" / "copy.parquet", DROP, by=by)


@pytest.mark.parametrize("each", [RENAME, DROP], ids=["rename", "drop"])
def test_memory_does_not_grow_with_the_file(
    renamer: Renamer, tmp_path: Path, by: str, each: Any
) -> None:
    bits = Random(1)

    def memory_of(mebibytes: int) -> int:
        """Copies one row group of two columns of incompressible bytes."""
        values = [bits.randbytes(MIB // 2) for _ in range(mebibytes)]
        source, target = (tmp_path / f"{name}-{mebibytes}" for name in ("source", "copy"))
        table = pa.table({"col-a": values, "col-b": values})
        pq.write_table(table, source, use_dictionary=False, write_statistics=False)
        return allocated(renamer, lambda: renamer.copy(source, target, each, by=by))

    memory_of(1)  # this call loads the classes
    assert memory_of(64) < memory_of(8) + 2 * MIB
    assert (tmp_path / "copy-64").exists()


# Files of a copy


def test_copy_on_a_local_disk_has_no_checksum_file(
    renamer: Renamer, source: Path, target: Path, spark: SparkSession
) -> None:
    """Hadoop's file system would write a checksum file beside the copy."""
    assert renamer.copy(source, target, DROP, by=DISK).way == "COPIED"
    assert list(target.parent.iterdir()) == [target]
    through_hadoop = target.with_name("hadoop.parquet")
    storage = renamer.path(through_hadoop).getFileSystem(renamer.configurations[DISK])
    storage.create(renamer.path(through_hadoop)).close()
    assert through_hadoop.with_name(".hadoop.parquet.crc").exists()
    assert target.stat().st_mode == through_hadoop.stat().st_mode


# The second value allows permissions that the JVM's umask removes.
@pytest.mark.parametrize(("umask", "mode"), [("027", 0o640), ("000", 0o666)])
def test_copy_has_the_permissions_of_hadoop(
    renamer: Renamer, source: Path, target: Path, umask: str, mode: int
) -> None:
    configuration = renamer.configurations[DISK]
    configuration.set("fs.permissions.umask-mode", umask)
    try:
        assert renamer.copy(source, target, DROP).way == "COPIED"
    finally:
        configuration.unset("fs.permissions.umask-mode")
    assert target.stat().st_mode & 0o777 == mode


def test_file_names_may_have_any_character(renamer: Renamer, source: Path, tmp_path: Path) -> None:
    odd = source.rename(tmp_path / "100%25 ä{'b'}=c.parquet")
    copy = tmp_path / "col=100%25 ä" / "x y.parquet"
    for by in BY:
        assert renamer.copy(odd, copy, DROP, by=by).way == "COPIED"
        assert pq.ParquetFile(copy).schema_arrow.names == ["a"]
        copy.unlink()
