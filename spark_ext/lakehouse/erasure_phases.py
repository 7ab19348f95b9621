# SPDX-License-Identifier: Apache-2.0
"""The phases of an erasure: read all tables, purge some of them, and vacuum some of them.

`VACUUM` of a table may delete files that other tables read. So it runs after every table of the
call was read, and after the purges, which may be of these other tables.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import Condition
from typing import TYPE_CHECKING

from spark_ext.lakehouse.earlier import EarlierCertificate
from spark_ext.lakehouse.erasure_results import TableErasure
from spark_ext.lakehouse.erasure_run import due_step, read_table, run_steps
from spark_ext.lakehouse.progress import LakehouseProgress, Reporter
from spark_ext.lakehouse.shared_files import with_readers
from spark_ext.lakehouse.signals import Interrupts
from spark_ext.lakehouse.workers import Workers
from spark_ext.model.dropped import PURGE, VACUUM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READING = "dropped columns"
_SECONDS = 0.2


class ErasurePhases:
    """Handles some tables at a time in each phase, until a signal arrives.

    Args:
        spark: The session.
        column: The name or shell pattern of columns; None for every dropped column.
        earlier: What earlier certificates found.
        reporter: Reports the progress.
        interrupts: The signals of the call.
        parallel: The number of tables at a time.

    Attributes:
        found: The results by the names of the tables, also if an error ends the call.
    """

    def __init__(
        self,
        spark: SparkSession,
        column: str | None,
        earlier: EarlierCertificate,
        reporter: Reporter,
        interrupts: Interrupts,
        *,
        parallel: int,
    ) -> None:
        self._spark = spark
        self._column = column
        self._earlier = earlier
        self._reporter = reporter
        self._interrupts = interrupts
        self._parallel = parallel
        self._is_stopped = False
        self._changed = Condition()
        self._running: list[str] = []
        self._started = time.monotonic()
        self.found: dict[str, TableErasure] = {}

    def run(self, names: Iterable[str], *, applies: bool) -> None:
        """Reads the tables, and runs the steps that can run now if `applies`."""
        self._run(READING, names, self._read)
        if applies:
            self._run_due(PURGE)
        self.found = with_readers(self.found)
        if applies:
            self._run_due(VACUUM)

    def _run_due(self, kind: str) -> None:
        due = [name for name, table in self.found.items() if due_step(table, kind) is not None]
        if due and self._may_go_on():
            self._run(kind, due, partial(self._apply, kind))

    def _read(self, name: str) -> TableErasure:
        return read_table(self._spark, name, self._column, self._earlier.of)

    def _apply(self, kind: str, name: str) -> TableErasure:
        return run_steps(self._spark, self.found[name], kind, self._column, self._may_go_on)

    def _run(self, phase: str, names: Iterable[str], work: Callable[[str], TableErasure]) -> None:
        """Does the work of a phase for each table, some of them at a time."""
        self._phase, self._table_work = phase, work
        self._waiting = deque(names)
        self._number, self._done = len(self._waiting), 0
        number = min(self._parallel, self._number)
        self._workers = Workers(self._spark, self._work, number)
        self._reporter.report(self._progress, at_once=True)
        self._workers.start()
        try:
            while self._workers.is_alive():
                self._supervise()
        except BaseException:  # such as the second signal: do not wait for running tables
            self._stop()
            raise
        self._reporter.report(self._progress, at_once=True)
        if self._workers.failure is not None:
            raise self._workers.failure

    def _supervise(self) -> None:
        with self._changed:
            self._changed.wait(_SECONDS)
        if self._interrupts.received is not None:
            self._stop()
        self._reporter.report(self._progress)

    def _stop(self) -> None:
        self._is_stopped = True
        self._workers.cancel()

    def _may_go_on(self) -> bool:
        """Returns whether a table or a step may begin."""
        return not self._is_stopped and self._interrupts.received is None

    def _work(self, number: int) -> None:
        while True:
            with self._changed:
                if not self._waiting or not self._may_go_on():
                    return
                name = self._waiting.popleft()
                self._running.append(name)
            with self._workers.properties(number, f"{self._phase}: {name}"):
                found = self._table_work(name)
            with self._changed:
                self.found[name] = found
                self._done += 1
                self._running.remove(name)
                self._changed.notify_all()

    def _progress(self) -> LakehouseProgress:
        with self._changed:
            return LakehouseProgress(
                phase=self._phase,
                tables_done=self._done,
                tables=self._number,
                seconds=time.monotonic() - self._started,
                running=tuple(self._running),
                finished=self._done == self._number,
            )
