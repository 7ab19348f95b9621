# SPDX-License-Identifier: Apache-2.0
"""Controls the storage `odd:`, a local disk that can delay writes or let writes fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.support.java_sources import storage_jar

SOURCE = Path(__file__).with_name("OddFileSystem.java")
LOG_STORE = ("spark.delta.logStore.odd.impl", "io.delta.storage.LocalLogStore")


def odd_jar(home: Path) -> Path:
    """Compiles the storage."""
    return storage_jar(home, SOURCE)


def with_odd_disk(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Configures a session that has the storage's jar."""
    return builder.config(*LOG_STORE).config("spark.hadoop.fs.odd.impl", SOURCE.stem)


class OddDisk:
    """Controls the faults of the storage by files in a folder."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        jvm: Any = spark._jvm
        self._system = jvm.java.lang.System
        self._folder = folder
        folder.mkdir()
        self._system.setProperty("odd.folder", str(folder))

    def fail(self, times: int = 1, *, after: int = 0) -> None:
        """Lets the writes of `times` data files fail, once `after` other writes have succeeded."""
        for kind, files in {"spare": after, "fail": times}.items():
            for number in range(files):
                (self._folder / f"{kind}-{number}").touch()

    def hold(self) -> None:
        """Delays closing the next data file until `release`. Only the first call has an effect."""
        (self._folder / "gate").touch()

    def release(self) -> None:
        (self._folder / "gate").unlink(missing_ok=True)

    @property
    def has_fault(self) -> bool:
        """Returns whether a write is still to fail."""
        return any(self._folder.glob("fail-*"))

    @property
    def has_delayed(self) -> bool:
        """Returns whether `hold` has delayed a data file, also after `release`."""
        return (self._folder / "waiting").exists()

    @property
    def lists(self) -> int:
        """Returns the number of listings of logs so far."""
        return int(self._system.getProperty("odd.lists", "0"))

    def close(self) -> None:
        self.release()
        for name in ("odd.folder", "odd.lists"):
            self._system.clearProperty(name)
