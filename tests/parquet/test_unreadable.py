# SPDX-License-Identifier: Apache-2.0
"""Tests unreadable files, encrypted files, and copies that are stopped."""

from __future__ import annotations

import base64
import os
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from tests.parquet.columns import Column, plan
from tests.parquet.renamer import BY, DISK, STREAM, NotParquetError, Outcome, Renamer
from tests.support.parquet_file import (
    BLOOM,
    BLOOM_LENGTH,
    COLUMN_INDEX,
    OFFSET_INDEX,
    ParquetFile,
)

pytestmark = pytest.mark.every_variant  # each takes well under a second

A = Column(1, "col-a", "a", pa.int64())
B = Column(2, "col-b", "b", pa.string())
RENAME, DROP = plan((A, B)), plan((A,))
TABLE = pa.table({"col-a": range(1000), "col-b": [f"b{n}" for n in range(1000)]})
MIB = 1 << 20


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


def reason(renamer: Renamer, source: Path, target: Path, **options: Any) -> str:
    """Returns why a file is unreadable. Reading the footer and copying must agree."""
    with pytest.raises(NotParquetError) as looked:
        renamer.look(source, RENAME, **options)
    with pytest.raises(NotParquetError) as copied:
        renamer.copy(source, target, RENAME, **options)
    assert str(looked.value) == str(copied.value)
    assert not target.exists()
    return str(copied.value)


# Unreadable files


def test_missing_file_is_unreadable(
    renamer: Renamer, tmp_path: Path, target: Path, by: str
) -> None:
    assert reason(renamer, tmp_path / "none", target, by=by, size=99) == "it does not exist"


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1PAR1"], ids=len)
def test_file_shorter_than_a_footer_is_unreadable(
    renamer: Renamer, source: Path, target: Path, by: str, data: bytes
) -> None:
    source.write_bytes(data)
    assert reason(renamer, source, target, by=by) == f"it has {len(data)} bytes"


@pytest.mark.parametrize("kept_part", [0.02, 0.5, 0.999])
def test_truncated_file_is_unreadable(
    renamer: Renamer, source: Path, target: Path, by: str, kept_part: float
) -> None:
    size = source.stat().st_size
    os.truncate(source, int(size * kept_part))
    assert reason(renamer, source, target, by=by) == "it does not end with a footer"
    short = f"it has fewer than {size} bytes"
    assert reason(renamer, source, target, by=by, size=size) == short


def test_file_longer_than_in_the_log_is_unreadable(
    renamer: Renamer, source: Path, target: Path, by: str
) -> None:
    size = source.stat().st_size - 5
    assert reason(renamer, source, target, by=by, size=size) == "it does not end with a footer"


@pytest.mark.parametrize("length", [-1, -(1 << 31), (1 << 31) - 1, 10**6])
def test_footer_with_an_invalid_length_is_unreadable(
    renamer: Renamer, source: Path, target: Path, length: int
) -> None:
    data = source.read_bytes()
    source.write_bytes(data[:-8] + struct.pack("<i", length) + b"PAR1")
    assert reason(renamer, source, target) == "it does not end with a footer"


@pytest.mark.parametrize("length", [0, 1, 20, 3000])
def test_invalid_footer_is_unreadable(
    renamer: Renamer, source: Path, target: Path, length: int
) -> None:
    source.write_bytes(b"PAR1" + b"\x9c" * length + struct.pack("<i", length) + b"PAR1")
    assert reason(renamer, source, target) == "its footer cannot be read"


def test_file_without_field_ids_is_unreadable_in_mode_id(renamer: Renamer, source: Path) -> None:
    with pytest.raises(NotParquetError, match="field ids"):
        renamer.look(source, plan((A, B), by_id=True))


# A footer in Thrift's bytes: two elements of a schema, no rows and no row groups.
ROOT, COLUMN, NO_GROUPS = "1502 192c 48016d150200", "1502 2502 180161 00", "1600 190c 00"
IMPOSSIBLE = {
    "a list of -1 elements": f"{ROOT} {COLUMN} 1600 19fc ffffffffffffffffff01 00",
    "an unknown list of -1 elements": f"{ROOT} {COLUMN} 1600 190c d9fc ffffffffffffffffff01 00",
    "an unknown map of -1 elements": f"{ROOT} {COLUMN} 1600 190c db ffffffffffffffffff01 cc 00",
    "a number above 32 bits": f"{ROOT} 1502 258480808020 180161 00 {NO_GROUPS}",
}


def write_footer(file: Path, footer: str) -> None:
    data = bytes.fromhex(footer)
    file.write_bytes(b"PAR1" + data + struct.pack("<i", len(data)) + b"PAR1")


@pytest.mark.parametrize("footer", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_footer_with_an_impossible_number_is_unreadable(
    renamer: Renamer, source: Path, target: Path, footer: str
) -> None:
    write_footer(source, footer)
    assert reason(renamer, source, target) == "its footer cannot be read"


HUGE, DEEP = "ffffffff07", 100_000  # 2^31-1
HOSTILE = {
    "a name of 2 GiB": f"{ROOT} 1502 2502 18{HUGE} 61 00 {NO_GROUPS}",
    "a list of 2^31-1 row groups": f"{ROOT} {COLUMN} 1600 19fc {HUGE} 00",
    "a list of 2^31-1 names": f"{ROOT} {COLUMN} 1600 191c 191c 3c 2902 19f8 {HUGE} 61",
    "an unknown binary of 2 GiB": f"{ROOT} {COLUMN} 1600 190c d8 {HUGE} 00",
    "an unknown list of 2^31-1 elements": f"{ROOT} {COLUMN} 1600 190c d9fc {HUGE} 00",
    "an unknown map of 2^31-1 entries": f"{ROOT} {COLUMN} 1600 190c db {HUGE} 88 00",
    "unknown structures of many levels": f"{ROOT} {COLUMN} 1600 190c dc {'1c' * DEEP}",
    "unknown lists of many levels": f"{ROOT} {COLUMN} 1600 190c d9 {'19' * DEEP}",
}


@pytest.mark.parametrize("footer", HOSTILE.values(), ids=HOSTILE)
def test_hostile_footer_is_unreadable_in_little_memory(
    renamer: Renamer, source: Path, target: Path, footer: str
) -> None:
    write_footer(source, footer)
    reason(renamer, source, target)  # this call loads the classes
    threads = renamer.jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    before = threads.getCurrentThreadAllocatedBytes()
    assert reason(renamer, source, target) == "its footer cannot be read"
    assert threads.getCurrentThreadAllocatedBytes() - before < 4 * MIB


def test_schema_of_too_many_levels_is_rewritten(renamer: Renamer, source: Path) -> None:
    level, number = "3502 180161 1502 00", 3000
    elements = f"1502 19fc {number + 2 & 0x7F | 0x80:02x}{number + 2 >> 7:02x} 48016d150200"
    write_footer(source, f"{elements} {level * number} {COLUMN} {NO_GROUPS}")
    found = renamer.look(source, RENAME)
    assert (found.way, found.reason) == ("TO_REWRITE", "its schema has more than 200 levels")


def test_damaged_footer_has_the_same_outcome_when_read_and_when_copied(
    renamer: Renamer, source: Path, tmp_path: Path
) -> None:
    random = Random(5)
    file = ParquetFile.of(source)
    data = file.bytes()
    seen = set()
    for number in range(100):
        at = random.randrange(len(file.body), len(data) - 8)
        damaged = data[:at] + random.randbytes(1 + number % 3) + data[at + 1 + number % 3 :]
        source.write_bytes(damaged[: len(data)])
        target = tmp_path / f"{number}.parquet"
        way = looked_and_copied(renamer, source, target)
        assert target.exists() == (way == "COPIED")
        seen.add(way)
    assert seen == {"UNREADABLE", "TO_REWRITE", "COPIED"}


def looked_and_copied(renamer: Renamer, source: Path, target: Path) -> str:
    """Returns the outcome if column b is dropped. Reading the footer and copying must agree."""

    def outcome_of(call: Callable[..., Outcome], *arguments: Any) -> tuple[str, str | None]:
        try:
            outcome = call(source, *arguments, DROP)
            return outcome.way, outcome.reason
        except NotParquetError as unreadable:
            return "UNREADABLE", str(unreadable)

    looked = outcome_of(renamer.look)
    assert outcome_of(renamer.copy, target) == looked
    return looked[0]


def test_reading_the_footer_returns_the_same_as_a_copy(
    renamer: Renamer, source: Path, tmp_path: Path
) -> None:
    random = Random(6)
    pq.write_table(
        TABLE,
        source,
        write_page_index=True,
        data_page_size=500,
        bloom_filter_options={"col-a": {"ndv": 50}, "col-b": {"ndv": 50}},
    )
    file = ParquetFile.of(source)
    for column in file.columns:
        column.drop(BLOOM_LENGTH)
    data = file.bytes()
    indexes = min(chunk[COLUMN_INDEX] for chunk in file.chunks)
    assert indexes < min(chunk[OFFSET_INDEX] for chunk in file.chunks)
    filters = min(column[BLOOM] for column in file.columns)
    ranges = [(filters, filters + 20), (indexes, len(file.body)), (len(file.body), len(data) - 8)]
    reasons = set()
    for number in range(150):
        at = random.randrange(*ranges[number % 3])
        source.write_bytes(data[:at] + random.randbytes(1) + data[at + 1 :])
        target = tmp_path / f"{number}.parquet"
        reasons.add(looked_and_copied(renamer, source, target))
        target.unlink(missing_ok=True)
    assert reasons == {"UNREADABLE", "TO_REWRITE", "COPIED"}


# Encrypted files


class Keys(pe.KmsClient):  # type: ignore[misc]  # which is Any: pyarrow has no types
    """Wraps a key by reversing it."""

    def __init__(self, config: pe.KmsConnectionConfig) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes[::-1])

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)[::-1]


@pytest.mark.parametrize(
    ("plaintext_footer", "expected"),
    [(False, "its footer is encrypted"), (True, "it is encrypted, and its footer is signed")],
    ids=["footer", "columns"],
)
def test_encrypted_file_is_rewritten(
    renamer: Renamer, source: Path, target: Path, plaintext_footer: bool, expected: str
) -> None:
    configuration = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["col-b"]}, plaintext_footer=plaintext_footer
    )
    keys = pe.CryptoFactory(Keys).file_encryption_properties(
        pe.KmsConnectionConfig(), configuration
    )
    pq.write_table(TABLE, source, encryption_properties=keys)
    assert source.read_bytes()[-4:] == (b"PAR1" if plaintext_footer else b"PARE")
    for each in (RENAME, DROP):
        outcome = renamer.copy(source, target, each)
        assert outcome == Outcome("TO_REWRITE", source.stat().st_size, expected)
    assert not target.exists()
    same = renamer.look(source, plan((replace(A, new_name="col-a"), replace(B, new_name="col-b"))))
    assert same.way == ("KEPT" if plaintext_footer else "TO_REWRITE")


# Copies that are stopped


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes a file of two columns of 18 MiB each."""
    file = tmp_path_factory.mktemp("large") / "large.parquet"
    numbers = pa.array(range(18 * MIB // 8))
    table = pa.table({"col-a": numbers, "col-b": numbers})
    pq.write_table(table, file, compression="none", use_dictionary=False, write_statistics=False)
    return file


def stopping_after(renamer: Renamer, calls: int) -> Any:
    """Returns a Runnable that throws NoSuchElementException after a number of runs."""
    java = renamer.jvm.java
    handles = java.lang.invoke.MethodHandles.publicLookup()
    of = java.lang.invoke.MethodType.methodType
    iterator = java.util.Collections.nCopies(calls, "").iterator()
    following = handles.findVirtual(
        java.lang.Class.forName("java.util.Iterator"),
        "next",
        of(java.lang.Class.forName("java.lang.Object")),
    )
    run = following.bindTo(iterator).asType(of(java.lang.Void.TYPE))
    return java.lang.invoke.MethodHandleProxies.asInterfaceInstance(
        java.lang.Class.forName("java.lang.Runnable"), run
    )


# The body is copied in pieces of 16 MiB by the kernel, and of 1 MiB by a buffer.
@pytest.mark.parametrize("each", [RENAME, DROP], ids=["rename", "drop"])
@pytest.mark.parametrize(("by", "calls"), [(DISK, 0), (DISK, 1), (STREAM, 0), (STREAM, 15)])
def test_stopped_copy_leaves_no_file(
    renamer: Renamer, large: Path, target: Path, by: str, calls: int, each: Any
) -> None:
    stop = stopping_after(renamer, calls)
    with pytest.raises(Py4JJavaError) as stopped:
        renamer.copy(large, target, each, by=by, checkpoint=stop)
    assert "NoSuchElementException" in str(stopped.value.java_exception)
    assert list(target.parent.iterdir()) == []
    # The exception came from the Runnable: the copy used all its runs.
    with pytest.raises(Py4JJavaError, match="NoSuchElementException"):
        stop.run()


def test_copy_fails_when_its_source_is_truncated_meanwhile(
    renamer: Renamer, large: Path, source: Path, target: Path, by: str
) -> None:
    shutil.copy(large, source)
    size = source.stat().st_size
    with pytest.raises(NotParquetError, match=f"it has fewer than {size} bytes"):
        renamer.copy(source, target, DROP, by=by, checkpoint=truncating(renamer, source))
    assert list(target.parent.iterdir()) == []


def truncating(renamer: Renamer, file: Path) -> Any:
    """Returns a Runnable that truncates a file to 5 MiB."""
    java = renamer.jvm.java
    channel = java.io.RandomAccessFile(str(file), "rw").getChannel()
    a_channel = java.lang.Class.forName("java.nio.channels.FileChannel")
    handles = java.lang.invoke.MethodHandles
    truncate = handles.publicLookup().findVirtual(
        a_channel,
        "truncate",
        java.lang.invoke.MethodType.methodType(a_channel, java.lang.Long.TYPE),
    )
    bound = handles.dropReturn(truncate.bindTo(channel))
    length = renamer.jvm.java.util.List.of(java.lang.Long(5 * MIB)).toArray()
    return java.lang.invoke.MethodHandleProxies.asInterfaceInstance(
        java.lang.Class.forName("java.lang.Runnable"),
        handles.insertArguments(bound, 0, length),
    )


def test_interrupted_thread_leaves_no_file(renamer: Renamer, source: Path, target: Path) -> None:
    thread = renamer.jvm.java.lang.Thread
    # Spark interrupts a task that it kills.
    with pytest.raises(Py4JJavaError, match="ClosedByInterruptException"):
        renamer.copy(source, target, DROP, checkpoint=interrupting(renamer))
    assert thread.interrupted(), "the thread is no longer interrupted"
    assert list(target.parent.iterdir()) == []


def interrupting(renamer: Renamer) -> Any:
    """Returns a Runnable that interrupts its thread."""
    java = renamer.jvm.java
    handles = java.lang.invoke.MethodHandles.publicLookup()
    of = java.lang.invoke.MethodType.methodType
    a_thread = java.lang.Class.forName("java.lang.Thread")
    interrupt = handles.findVirtual(a_thread, "interrupt", of(java.lang.Void.TYPE))
    current = handles.findStatic(a_thread, "currentThread", of(a_thread))
    return java.lang.invoke.MethodHandleProxies.asInterfaceInstance(
        java.lang.Class.forName("java.lang.Runnable"),
        java.lang.invoke.MethodHandles.foldArguments(interrupt, current),
    )


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


# Copies on a local disk


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
