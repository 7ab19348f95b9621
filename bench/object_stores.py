# SPDX-License-Identifier: Apache-2.0
"""Measures the removal of column mapping on S3, in seconds and requests, beside Delta's rewrite.

The S3 server and the proxy of the tests run on the loopback, and the proxy delays each request.
Each table is written once and copied at the server. All ways take turns in one run.
"""

from __future__ import annotations

import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from delta_tables import NAME_MODE, NO_MODE, TRACKED, set_properties
from remote import Remote, both_sessions
from removal_by_copy import CASES, FILE_MB, Case, write
from report import NO_LIMIT, Figure, Report, in_seconds, table
from rich.table import Table
from uploads import Upload

sys.path.append(str(Path(__file__).parents[1]))

from tests.object_stores.aws import aws_jars, s3a_settings
from tests.object_stores.proxy import Proxy, running
from tests.object_stores.s3 import S3
from tests.object_stores.servers import s3proxy

DELAY = 0.03  # seconds
REPEATS = 2
THREADS = 16
BUCKET = "bench"
STORE_COPY = "spark.sparkext.columnMapping.removal.storeCopy"
BY_STORE, BY_STREAM, DELTA = "copied by the store", "through the executors", "Delta's rewrite"
SERVER = "the server alone"
"""The server copies the same objects in parts of the same size, as S3 does on its machines."""
STATEMENT = "a property alone"
"""The least seconds of a statement: Delta's log makes its requests one after the other."""
WAYS = (SERVER, STATEMENT, BY_STORE, BY_STREAM, DELTA)
RENAMED, DROPPED = CASES[:2]
TABLES = ((RENAMED, 1_000), (DROPPED, 1_000), (RENAMED, 4_000))  # megabytes
# The requests for each copied file. A dropped column requires one more range.
REQUESTS = {RENAMED.name: 5, DROPPED.name: 6}


@dataclass(frozen=True)
class Removal:
    """Contains the seconds of one of `WAYS`, and a statement's requests for data files."""

    case: str
    way: str
    seconds: float
    requests: float = 0
    """The requests for each file."""
    megabytes: float = 0
    """The megabytes in the bodies of requests and responses."""


def run(folder: Path) -> Report:
    with s3proxy(folder / "s3") as server, running(server.url, DELAY) as proxy:
        server.create_bucket(BUCKET)
        with both_sessions(folder / "sessions", settings(proxy.url)) as (ours, plain):
            bench = Bench(server, proxy, ours, plain)
            found = [
                (case, megabytes, bench.measured(case, megabytes)) for case, megabytes in TABLES
            ]
    return Report(
        f"on S3, {DELAY * 1000:.0f} ms a request, medians of {REPEATS}",
        [figure for measured in found for figure in figures(*measured)],
        [as_table([row for _, _, rows in found for row in rows])],
    )


def settings(url: str) -> dict[str, str]:
    """Returns the settings of a session with the jars of S3A and the address of the server."""
    jars = ",".join(map(str, aws_jars()))
    return {"spark.jars": jars} | {
        f"spark.hadoop.fs.s3a.{k}": v for k, v in s3a_settings(url).items()
    }


@dataclass(frozen=True)
class Bench:
    """Measures tables on one server."""

    server: S3
    proxy: Proxy
    ours: Remote
    plain: Remote

    def measured(self, case: Case, megabytes: int) -> list[Removal]:
        """Measures all ways, and ignores the first round."""
        original = f"original-{TABLES.index((case, megabytes))}"
        self.proxy.delay = 0
        write(self.plain, f"s3a://{BUCKET}/{original}", megabytes, mapped=False)
        rounds = [
            [
                self.removed(original, f"{original}-{number}-{place}", case, megabytes, way)
                for place, way in enumerate(WAYS)
            ]
            for number in range(REPEATS + 1)
        ]
        self.remove(original)
        return [
            Removal(
                named(case, megabytes),
                way[0].way,
                statistics.median(each.seconds for each in way),
                statistics.median(each.requests for each in way),
                statistics.median(each.megabytes for each in way),
            )
            for way in zip(*rounds[1:], strict=True)
        ]

    def removed(self, original: str, path: str, case: Case, megabytes: int, way: str) -> Removal:
        if way == SERVER:
            return Removal(case.name, way, self.copied_in_parts(original, path))
        session = self.plain if way == DELTA else self.ours
        uri = f"s3a://{BUCKET}/{path}"
        self.proxy.delay = 0
        self.copy(original, path)
        if way != DELTA:
            set_properties(session, uri, TRACKED)
            session.sql(f"SET {STORE_COPY} = {str(way == BY_STORE).lower()}")
        set_properties(session, uri, NAME_MODE)
        for change in case.changes:
            session.sql(f"ALTER TABLE delta.`{uri}` {change}")
        set_properties(session, uri, "'a' = 'warm'")
        self.proxy.delay = DELAY
        self.proxy.forget()
        seconds = set_properties(session, uri, "'a' = 'alone'" if way == STATEMENT else NO_MODE)
        data = [each for each in self.proxy.requests if each.key.endswith(".parquet")]
        moved = sum(each.sent + each.received for each in data) / 1e6
        self.remove(path)
        return Removal(case.name, way, seconds, len(data) / (megabytes // FILE_MB), moved)

    def copy(self, source: str, target: str) -> None:
        """Copies a table at the server."""
        for key in self.server.objects(BUCKET, f"{source}/"):
            copy = f"{BUCKET}/{target}/{key.removeprefix(f'{source}/')}"
            self.server.ask("PUT", copy, x_amz_copy_source=f"/{BUCKET}/{key}")

    def copied_in_parts(self, source: str, target: str) -> float:
        """Returns the seconds in which the server copies the data of a table, without delay."""
        keys = [key for key in self.server.objects(BUCKET, f"{source}/") if key.endswith("parquet")]

        def copy(key: str) -> None:
            upload = Upload(self.server, BUCKET, f"{target}/{key}")
            upload.copy(key, 0, self.server.objects(BUCKET, key)[key])
            upload.complete()

        started = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(copy, keys))
        seconds = time.perf_counter() - started
        self.remove(target)
        return seconds

    def remove(self, path: str) -> None:
        for key in self.server.objects(BUCKET, f"{path}/"):
            self.server.delete(BUCKET, key)


def named(case: Case, megabytes: int) -> str:
    return f"{case.name}, {megabytes / 1000:g} GB"


def figures(case: Case, megabytes: int, found: list[Removal]) -> list[Figure]:
    name = named(case, megabytes)
    by = {row.way: row for row in found}
    store, stream, delta = by[BY_STORE], by[BY_STREAM], by[DELTA]
    without_server = store.seconds - by[SERVER].seconds
    return [
        Figure(
            f"ours / Delta's, {name}",
            in_seconds(store.seconds),
            in_seconds(delta.seconds),
            store.seconds / delta.seconds,
            NO_LIMIT,
        ),
        Figure(
            f"(ours - {SERVER}) / Delta's, {name}",
            in_seconds(without_server),
            in_seconds(delta.seconds),
            without_server / delta.seconds,
            1 / 20,
        ),
        Figure(
            f"bytes up and down / data, {name}",
            f"{store.megabytes:.1f} MB",
            f"{delta.megabytes:.1f} MB",
            store.megabytes / megabytes,
            0.01,
        ),
        Figure(
            f"requests a file, {name}",
            f"{store.requests:.1f}",
            f"{delta.requests:.1f}",
            store.requests,
            REQUESTS[case.name],
            "",
        ),
        Figure(
            f"requests a file, {name}, {stream.way}",
            f"{stream.requests:.1f}",
            f"{delta.requests:.1f}",
            stream.requests,
            6 + 1 + FILE_MB // 8,  # at most 6 of REQUESTS, one more part, a range for each 8 MB
            "",
        ),
    ]


def as_table(found: list[Removal]) -> Table:
    return table(
        "removal of column mapping on S3",
        ("case", "way", "time", "requests a file", "up and down"),
        (
            (
                row.case,
                row.way,
                in_seconds(row.seconds),
                f"{row.requests:.1f}",
                f"{row.megabytes:,.1f} MB",
            )
            for row in found
        ),
        to_the_left=("case", "way"),
    )
