# SPDX-License-Identifier: Apache-2.0
"""The rule process fails, hangs or talks nonsense: nothing is committed, and the next call works.

Each fault is an interpreter of its own: a script that stands in for Python. Where the fault is in
a call, it runs the worker's own code with other rules.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from textwrap import dedent, indent

import pytest
from custom_sessions import our_jar, resolved_jars, session
from delta_table import NAME_MODE, TRACKED, Table
from delta_table import refusal as refused_with
from processes import (
    command_line,
    environment,
    in_new_process,
    is_rule_worker,
    jvm_pid,
    listening_addresses,
    processes_that_name,
    rule_workers,
)
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from table_log import FLAG

from spark_ext import UsageTracking
from spark_ext.errors import MalformedMessageError

PYTHON = "spark.sparkext.worker.python"
TIMEOUT = "spark.sparkext.worker.timeout"

COLUMN_NUMBERS = count()

SetConf = Callable[[str, str], None]


@pytest.fixture(scope="module")
def tracked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table of many small commits, and no checkpoint that would take longer than they do."""
    table = Table(spark, tmp_path_factory.mktemp("tracked") / "t")
    return table.create("a INT", TRACKED, NAME_MODE, "'delta.checkpointInterval' = '1000'")


@pytest.fixture
def interpreter(tmp_path: Path, conf: SetConf) -> Callable[[str], str]:
    """Makes a shell script the session's interpreter; returns the command of the rule process."""

    def install(script: str) -> str:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        conf(PYTHON, str(path))
        return f"{path} -m spark_ext.worker"

    return install


@pytest.fixture
def rules(tmp_path: Path, interpreter: Callable[[str], str]) -> Callable[..., str]:
    """Makes the real worker serve questions with the given body; returns its command."""

    def install(body: str = "return super().ask(question, request)", *, setup: str = "") -> str:
        program = tmp_path / "worker.py"
        program.write_text(
            "import os, sys, threading\n"
            "from spark_ext.worker import __main__ as worker\n"
            f"{dedent(setup)}\n"
            "class Rules(worker.RuleService):\n"
            "    def ask(self, question, request):\n"
            f"{indent(dedent(body), ' ' * 8)}\n"
            "worker.RuleService = Rules\n"
            "worker.main()\n"
        )
        return interpreter(f'exec "{sys.executable}" "{program}" "$@"')

    return install


def add_column(table: Table) -> None:
    table.alter(f"ADD COLUMN c{next(COLUMN_NUMBERS)} INT")


def refusal(table: Table) -> AnalysisException:
    """The error of a change of a tracked table, of which nothing was written."""
    version = table.log.version
    with pytest.raises(AnalysisException) as refused:
        add_column(table)
    assert table.log.version == version
    assert set(table.path.iterdir()) == {table.path / "_delta_log"}
    return refused.value


def refusal_then_recovery(table: Table, conf: SetConf) -> AnalysisException:
    """The same, after which the next change works, in a fresh process."""
    refused = refusal(table)
    version = table.log.version
    conf(PYTHON, sys.executable)
    conf(TIMEOUT, "30s")
    add_column(table)
    assert table.log.version == version + 1
    assert len(rule_workers(jvm_pid(table.spark))) == 1
    return refused


def assert_unavailable(
    error: AnalysisException, command: str, *, exit_code: str, stderr: str = ""
) -> None:
    parameters = error.getMessageParameters()

    assert error.getCondition() == "USAGE_TRACKING_RULES_UNAVAILABLE"
    assert error.getSqlState() == "58000"
    assert parameters.pop("reason")
    assert parameters == {"command": command, "exitCode": exit_code, "stderr": stderr}


def assert_malformed(error: AnalysisException) -> None:
    assert error.getCondition() == "USAGE_TRACKING_MALFORMED_MESSAGE"
    assert error.getSqlState() == "XX000"
    assert set(error.getMessageParameters()) == {"path", "problem"}


# The process does not start.


def test_a_missing_python_is_named(tracked: Table, tmp_path: Path, conf: SetConf) -> None:
    missing = tmp_path / "no-such-python"
    conf(PYTHON, str(missing))

    assert_unavailable(
        refusal_then_recovery(tracked, conf), f"{missing} -m spark_ext.worker", exit_code="none"
    )


def test_a_file_that_is_no_program_is_named(tracked: Table, tmp_path: Path, conf: SetConf) -> None:
    (tmp_path / "python").write_text("not executable")
    conf(PYTHON, str(tmp_path / "python"))

    assert_unavailable(
        refusal_then_recovery(tracked, conf),
        f"{tmp_path}/python -m spark_ext.worker",
        exit_code="none",
    )


def test_an_interpreter_that_ends_tells_its_exit_code_and_last_words(
    tracked: Table, conf: SetConf, interpreter: Callable[[str], str]
) -> None:
    command = interpreter("echo first >&2; echo 'no module named spark_ext' >&2; exit 3")

    assert_unavailable(
        refusal_then_recovery(tracked, conf),
        command,
        exit_code="3",
        stderr="first\nno module named spark_ext",
    )


def test_of_a_long_stderr_the_end_is_told(
    tracked: Table, conf: SetConf, interpreter: Callable[[str], str]
) -> None:
    interpreter("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done >&2; exit 1")

    stderr = refusal_then_recovery(tracked, conf).getMessageParameters()["stderr"]

    assert stderr.endswith("line 19999\nline 20000")
    assert len(stderr) <= 2000


@pytest.mark.parametrize(
    "script",
    ["exec {hang}", "{hang}", "exec {hang} >&-", "trap '' TERM; {hang}; {hang}"],
    ids=["program", "script", "closes-stdout", "ignores-terminate"],
)
def test_an_interpreter_that_hangs_at_its_start_is_ended(
    tracked: Table, conf: SetConf, interpreter: Callable[[str], str], tmp_path: Path, script: str
) -> None:
    hang = f'"{sys.executable}" -c "import time; time.sleep(600)" {tmp_path}'
    command = interpreter(f"echo hanging >&2; {script.format(hang=hang)}")
    conf(TIMEOUT, "2s")

    error = refusal_then_recovery(tracked, conf)

    assert_unavailable(error, command, exit_code="none", stderr="hanging")
    assert not processes_that_name(str(tmp_path))


@pytest.mark.parametrize("timeout", ["soon", "", "30 parsecs", "1.5s"])
def test_a_time_limit_that_is_no_time_is_refused(
    tracked: Table, conf: SetConf, timeout: str
) -> None:
    conf(TIMEOUT, timeout)

    error = refusal_then_recovery(tracked, conf)

    assert error.getCondition() == "USAGE_TRACKING_RULES_UNAVAILABLE"
    assert f"`{timeout}`" in error.getMessageParameters()["reason"]


@pytest.mark.parametrize("port", ["nonsense", "", "-1", "0", "99999", "1", "12 34", "x" * 100_000])
def test_nonsense_in_place_of_the_port_is_refused(
    tracked: Table, conf: SetConf, interpreter: Callable[[str], str], tmp_path: Path, port: str
) -> None:
    (tmp_path / "port").write_text(f"{port}\n")
    command = interpreter(f"cat {tmp_path / 'port'}; exec sleep 600")

    error = refusal_then_recovery(tracked, conf)

    assert len(error.getMessageParameters()["reason"]) < 1000
    assert_unavailable(error, command, exit_code="none")


def test_a_port_on_which_nobody_answers_is_given_up(
    tracked: Table, conf: SetConf, interpreter: Callable[[str], str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = interpreter(f"echo {silent.getsockname()[1]}; exec sleep 600")
        conf(TIMEOUT, "2s")

        assert_unavailable(refusal_then_recovery(tracked, conf), command, exit_code="none")


# The process fails in a call.


def test_a_worker_that_dies_in_a_call_tells_its_exit_code_and_last_words(
    tracked: Table, conf: SetConf, rules: Callable[..., str]
) -> None:
    command = rules("print('last words', file=sys.stderr, flush=True); os._exit(7)")

    assert_unavailable(
        refusal_then_recovery(tracked, conf), command, exit_code="7", stderr="last words"
    )


def test_a_worker_that_is_killed_in_a_call_tells_the_signal(
    tracked: Table, conf: SetConf, rules: Callable[..., str]
) -> None:
    command = rules("os.kill(os.getpid(), 9)")

    assert_unavailable(
        refusal_then_recovery(tracked, conf), command, exit_code=str(128 + signal.SIGKILL)
    )


def test_a_worker_that_hangs_in_a_call_is_ended(
    tracked: Table, conf: SetConf, rules: Callable[..., str], tmp_path: Path
) -> None:
    command = rules("print('hanging', file=sys.stderr, flush=True); threading.Event().wait()")
    conf(TIMEOUT, "2s")

    error = refusal_then_recovery(tracked, conf)

    assert "2000 ms" in error.getMessageParameters()["reason"]
    assert_unavailable(error, command, exit_code="none", stderr="hanging")
    assert not processes_that_name(str(tmp_path))


def test_a_worker_that_fails_outside_the_rules_is_replaced(
    tracked: Table, conf: SetConf, rules: Callable[..., str]
) -> None:
    command = rules("raise RuntimeError('out of order')")

    error = refusal_then_recovery(tracked, conf)

    assert error.getCondition() == "USAGE_TRACKING_RULES_UNAVAILABLE"
    assert error.getSqlState() == "58000"
    assert error.getMessageParameters()["command"] == command
    assert error.getMessageParameters()["exitCode"] == "none"


@pytest.mark.parametrize("fault", ["threading.Event().wait()", "raise RuntimeError('once')"])
def test_a_worker_that_failed_is_asked_no_second_time(
    tracked: Table, conf: SetConf, rules: Callable[..., str], tmp_path: Path, fault: str
) -> None:
    """The interpreter stays the same; the fault comes once."""
    failed = tmp_path / "failed"
    rules(
        f"""
        if not os.path.exists({str(failed)!r}):
            open({str(failed)!r}, "w").write(str(os.getpid()))
            {fault}
        return super().ask(question, request)
        """
    )
    conf(TIMEOUT, "2s")
    refusal(tracked)
    conf(TIMEOUT, "30s")

    add_column(tracked)

    (worker,) = rule_workers(jvm_pid(tracked.spark))
    assert worker != int(failed.read_text())


def test_a_worker_that_died_between_two_calls_is_replaced(tracked: Table) -> None:
    add_column(tracked)
    (idle,) = rule_workers(jvm_pid(tracked.spark))
    os.kill(idle, signal.SIGKILL)
    version = tracked.log.version

    add_column(tracked)

    assert tracked.log.version == version + 1
    assert rule_workers(jvm_pid(tracked.spark)).isdisjoint({idle})


# The rules answer, and it is no answer.


@pytest.mark.parametrize(
    "answer",
    [
        "nonsense",
        "",
        "null",
        "[]",
        "{}",
        '{"configuration": {}}',
        '{"schema": null}',
        '{"configuration": [], "schema": null}',
        '{"configuration": {"delta.columnMapping.maxColumnId": 1}, "schema": null}',
        '{"configuration": {"delta.columnMapping.mode": null}, "schema": null}',
        '{"configuration": {}, "schema": "=old"}',
        '{"configuration": {}, "schema": {}}',
        '{"configuration": {}, "schema": {"type": "struct", "fields": [{"name": "a"}]}}',
        '{"configuration": {}, "schema": {"type": "array"}}',
        '{"configuration": {}, "schema": {"type": "struct", "fields": [99]}}',
        '{"configuration": {}, "schema": {"type": "struct", "fields": ["a"]}}',
        '{"error": "refused"}',
    ],
)
def test_a_text_that_is_no_answer_is_refused(
    tracked: Table, rules: Callable[..., str], answer: str
) -> None:
    rules(f"return {answer!r}")

    error = refusal(tracked)

    assert_malformed(error)
    assert answer in error.getMessageParameters()["problem"]


@pytest.mark.parametrize("answer", [None, 42, True, 1.5, b"bytes"])
def test_an_answer_that_is_no_text_is_refused(
    tracked: Table, rules: Callable[..., str], answer: object
) -> None:
    rules(f"return {answer!r}")

    assert_malformed(refusal(tracked))


def test_a_long_answer_is_cut_in_the_error(tracked: Table, rules: Callable[..., str]) -> None:
    rules("return 'nonsense' * 100_000")

    assert len(refusal(tracked).getMessageParameters()["problem"]) < 1000


@pytest.mark.parametrize(
    "answer",
    [
        "nonsense",
        "{}",
        '{"schema": "path STRING"}',
        '{"rows": []}',
        '{"schema": "path NO TYPE", "rows": []}',
        '{"schema": "path STRING", "rows": {}}',
        '{"schema": "path STRING", "rows": ["a"]}',
        '{"schema": "path STRING", "rows": [null]}',
        '{"schema": "path STRING", "rows": [{}]}',
        '{"schema": "path STRING", "rows": [{"path": 1}]}',
        '{"schema": "path STRING", "rows": [{"path": "a", "name": "a"}]}',
        '{"schema": "id BIGINT", "rows": [{"id": "1"}]}',
        '{"schema": "id BIGINT", "rows": [{"id": 1.5}]}',
        '{"schema": "id BIGINT", "rows": [{"id": 1}, {"id": 9223372036854775808}]}',
        '{"schema": "a ARRAY<STRUCT<b: BOOLEAN>>", "rows": [{"a": [{"b": 0}]}]}',
    ],
)
def test_rows_that_do_not_fit_are_refused(
    tracked: Table, rules: Callable[..., str], answer: str
) -> None:
    """Spark's own reader makes no row of them, or null."""
    rules(f"return {answer!r}")

    with pytest.raises(AnalysisException) as refused:
        tracked.spark.sql(f"SELECT * FROM column_mapping('{tracked.name}')")

    assert_malformed(refused.value)
    assert answer in refused.value.getMessageParameters()["problem"]


def test_an_exit_that_is_missing_is_no_exit_that_is_reached(
    tracked: Table, rules: Callable[..., str]
) -> None:
    rules(
        setup="""
            from spark_ext.worker import table_functions
            every = table_functions.exits
            table_functions.exits = lambda facts: every(facts)[1:]
            """
    )
    usage = UsageTracking.forPath(tracked.spark, str(tracked.path))

    with tracked.no_commit(), pytest.raises(MalformedMessageError):
        usage.disable_column_mapping(until="writers", progress=None)


@pytest.mark.parametrize("missing", ["condition", "sqlState", "message", "parameters"])
def test_a_refusal_that_lacks_something_is_refused(
    tracked: Table, rules: Callable[..., str], missing: str
) -> None:
    whole = {"condition": "C", "sqlState": "22023", "message": "Cannot.", "parameters": {}}
    lacking = {key: value for key, value in whole.items() if key != missing}
    rules(f"return {json.dumps({'error': lacking})!r}")

    assert_malformed(refusal(tracked))


def test_a_refusal_reaches_the_user_with_its_condition_and_parameters(
    tracked: Table, rules: Callable[..., str]
) -> None:
    refused = {
        "condition": "SOME_CONDITION",
        "sqlState": "22023",
        "parameters": {"column": "`a.b`", "table": "t"},
        "message": "Cannot do it.",
    }
    rules(f"return {json.dumps({'error': refused})!r}")

    error = refusal(tracked)

    assert error.getCondition() == "SOME_CONDITION"
    assert error.getSqlState() == "22023"
    assert error.getMessageParameters() == {"column": "`a.b`", "table": "t"}


def test_a_rule_that_raises_is_named_with_its_traceback(
    tracked: Table, rules: Callable[..., str]
) -> None:
    rules(
        setup="""
            from spark_ext.worker import questions
            def broken_rule(*, old, new, commit):
                raise ZeroDivisionError("in a rule")
            questions.next_metadata = broken_rule
            """
    )

    error = refusal(tracked)

    assert error.getCondition() == "USAGE_TRACKING_RULE_FAILED"
    assert error.getSqlState() == "XX000"
    assert error.getMessageParameters()["error"] == "ZeroDivisionError('in a rule')"
    assert "broken_rule" in error.getMessageParameters()["traceback"]


# Other tables and other work go on. Of an untracked table the rules are asked by three things
# only: a table function, the creation of any table where mapped ones are tracked by default (the
# rules decide which are mapped), and a metadata change where a flag was left over.


@pytest.mark.parametrize("function", ["column_mapping", "column_mapping_exit"])
@pytest.mark.parametrize("properties", [[NAME_MODE], []], ids=["mapped", "plain"])
def test_a_table_function_asks_the_rules_of_an_untracked_table(
    table: Table, tmp_path: Path, conf: SetConf, function: str, properties: list[str]
) -> None:
    table.create("a INT", *properties)
    conf(PYTHON, str(tmp_path / "no-such-python"))

    with table.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        table.spark.sql(f"SELECT * FROM {function}('{table.name}')").collect()


@pytest.mark.parametrize("properties", [[NAME_MODE], []], ids=["mapped", "plain"])
def test_a_creation_asks_the_rules_where_mapped_tables_are_tracked_by_default(
    table: Table, tmp_path: Path, conf: SetConf, properties: list[str]
) -> None:
    conf("spark.sparkext.usageTracking.enabledByDefault", "true")
    conf(PYTHON, str(tmp_path / "no-such-python"))

    with refused_with("USAGE_TRACKING_RULES_UNAVAILABLE"):
        table.create("a INT", *properties)

    assert not table.log.commits


@pytest.mark.parametrize("change", ["ADD COLUMN b INT", "SET TBLPROPERTIES ('x' = 'y')"])
def test_a_change_of_an_untracked_table_with_a_left_over_flag_asks_the_rules(
    table: Table, tmp_path: Path, conf: SetConf, change: str
) -> None:
    table.create("a INT", NAME_MODE)
    metadata = table.log.metadata
    left_over = {**metadata, "configuration": {**metadata["configuration"], FLAG: "false"}}
    table.log.append_foreign({"metaData": left_over})
    conf(PYTHON, str(tmp_path / "no-such-python"))

    with table.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        table.alter(change)

    table.insert("(1)")
    assert (table.log.is_tracked, set(table.log.columns)) == (False, {"a"})
    assert table.rows() == [(1,)]


def test_changes_of_untracked_tables_and_data_only_writes_go_on_without_the_rules(
    table: Table, tmp_path: Path, conf: SetConf
) -> None:
    table.create_tracked("a INT")
    untracked = Table(table.spark, tmp_path / "untracked").create(
        "a INT, b INT", "'delta.columnMapping.mode' = 'name'"
    )
    conf(PYTHON, str(tmp_path / "no-such-python"))

    table.insert("(1), (2)")
    table.spark.sql(f"DELETE FROM {table.name} WHERE a = 1")
    untracked.insert("(1, 2)")
    untracked.alter("ADD COLUMN c INT")
    untracked.alter("RENAME COLUMN b TO d")
    untracked.alter("DROP COLUMN a")

    assert table.rows() == [(2,)]
    assert untracked.rows() == [(2, None)]


def test_changes_of_untracked_tables_and_data_only_writes_start_no_worker(
    table: Table, tmp_path: Path
) -> None:
    table.create_tracked("a INT")
    jvm = jvm_pid(table.spark)
    for worker in rule_workers(jvm):
        os.kill(worker, signal.SIGKILL)

    table.insert("(1)")
    untracked = Table(table.spark, tmp_path / "untracked").create(
        "a INT", "'delta.columnMapping.mode' = 'name'"
    )
    untracked.alter("ADD COLUMN c INT")
    untracked.alter("RENAME COLUMN a TO d")

    assert rule_workers(jvm) == set()


# The process itself.


def test_one_worker_serves_many_statements_and_two_threads(tracked: Table, table: Table) -> None:
    table.create_tracked("a INT")
    before = (tracked.log.version, table.log.version)
    workers = rule_workers(jvm_pid(table.spark))

    with ThreadPoolExecutor(2) as threads:
        for column in range(3):
            both = [threads.submit(t.alter, f"ADD COLUMN t{column} INT") for t in (tracked, table)]
            for alter in both:
                alter.result()

    assert (tracked.log.version, table.log.version) == (before[0] + 3, before[1] + 3)
    assert len(workers) == 1
    assert rule_workers(jvm_pid(table.spark)) == workers


def test_a_call_that_fails_takes_no_other_call_with_it(
    tracked: Table, table: Table, rules: Callable[..., str], tmp_path: Path
) -> None:
    table.create_tracked("a INT")
    version = tracked.log.version
    # Of two calls at once the first dies, in a worker that the second may be waiting for.
    rules(
        """
        if "fails" in request:
            os._exit(7)
        return super().ask(question, request)
        """
    )

    with ThreadPoolExecutor(2) as threads:
        for column in range(3):
            failing = threads.submit(table.alter, f"ADD COLUMN fails{column} INT")
            working = threads.submit(tracked.alter, f"ADD COLUMN w{column} INT")
            with pytest.raises(AnalysisException) as refused:
                failing.result()
            working.result()
            assert refused.value.getMessageParameters()["exitCode"] == "7"

    assert table.log.version == 0
    assert tracked.log.version == version + 3


def test_the_worker_listens_on_the_loopback_interface_only(tracked: Table) -> None:
    add_column(tracked)
    (worker,) = rule_workers(jvm_pid(tracked.spark))

    assert listening_addresses(worker) == {"0100007F"}


def test_the_token_is_on_standard_input_only(
    tracked: Table, tmp_path: Path, rules: Callable[..., str]
) -> None:
    seen = tmp_path / "token"
    rules(
        setup=f"""
            serve = worker.serve
            def noting_the_token(token):
                open({str(seen)!r}, "w").write(token)
                return serve(token)
            worker.serve = noting_the_token
            """
    )
    add_column(tracked)
    (worker,) = rule_workers(jvm_pid(tracked.spark))
    token = seen.read_text()

    assert len(token) >= 32
    assert token not in command_line(worker)
    assert token not in environment(worker)


def worker_outlives_its_jvm(home: Path, jars: list[str]) -> bool:
    """Kills the JVM of a session with a rule process; whether that still runs 10 s later."""
    spark = session(home, jars).getOrCreate()
    Table(spark, home / "t").create_tracked()
    jvm = jvm_pid(spark)
    (worker,) = rule_workers(jvm)
    os.kill(jvm, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_rule_worker(worker) and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_rule_worker(worker)


def test_the_worker_ends_with_the_jvm_however_it_ends(spark: SparkSession, tmp_path: Path) -> None:
    jars = [*resolved_jars(spark), our_jar()]

    assert not in_new_process(worker_outlives_its_jvm, tmp_path, jars)
