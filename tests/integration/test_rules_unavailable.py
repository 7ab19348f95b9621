# SPDX-License-Identifier: Apache-2.0
"""Tests that a rule process that fails, hangs or sends an invalid answer commits nothing.

The next call works. Most tests replace the interpreter by a script. For a fault in a call, the
script runs the worker's own code with other rules.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

from tests.support.custom_sessions import our_jar
from tests.support.delta_table import NAME_MODE, Table
from tests.support.delta_table import refusal as refused_with
from tests.support.processes import (
    jvm_pid,
    processes_that_name,
    rule_workers,
)
from tests.support.rule_process import (
    PYTHON,
    TIMEOUT,
    add_column,
    kill,
    parameters,
    refusal,
)
from tests.support.session_conf import SetConf
from tests.support.table_log import FLAG

# A row of `column_mapping`.
COLUMN = {
    **{"path": "a", "name": "a", "physicalName": "a", "id": 1, "type": "int"},
    **{"addedVersion": None, "renamedVersion": None, "nameInFilesOf": None},
}
# A row of `column_mapping_status`.
STATUS: dict[str, object] = {
    **{"mode": "name", "tracked": True, "hasDroppedOrRenamed": False, "minReaderVersion": 2},
    **{"minWriterVersion": 7, "readerFeatures": None, "writerFeatures": ["a"], "trueSince": None},
    **{"droppedOrRenamed": [], "historyFrom": 0},
}


def refusal_then_recovery(table: Table, driver_conf: SetConf) -> AnalysisException:
    """Returns the error of a change, and asserts that the next change succeeds in a new process."""
    refused = refusal(table)
    version = table.log.version
    driver_conf(PYTHON, sys.executable)
    driver_conf(TIMEOUT, "30s")
    add_column(table)
    assert table.log.version == version + 1
    assert len(rule_workers(jvm_pid(table.spark))) == 1
    return refused


def assert_unavailable(
    error: AnalysisException, command: str, *, exit_code: str, stderr: str = ""
) -> None:
    params = parameters(error)

    assert error.getCondition() == "USAGE_TRACKING_RULES_UNAVAILABLE"
    assert error.getSqlState() == "58000"
    assert params.pop("reason")
    assert params == {"command": command, "exitCode": exit_code, "stderr": stderr}


def assert_malformed(error: AnalysisException) -> None:
    assert error.getCondition() == "USAGE_TRACKING_MALFORMED_MESSAGE"
    assert error.getSqlState() == "XX000"
    assert set(parameters(error)) == {"path", "problem"}


# The process does not start.


def test_missing_python_is_named_in_the_error(
    tracked: Table, tmp_path: Path, driver_conf: SetConf
) -> None:
    missing = tmp_path / "no-such-python"
    driver_conf(PYTHON, str(missing))

    assert_unavailable(
        refusal_then_recovery(tracked, driver_conf), f"{missing} -E {our_jar()}", exit_code="none"
    )


def test_file_that_is_not_a_program_is_named_in_the_error(
    tracked: Table, tmp_path: Path, driver_conf: SetConf
) -> None:
    (tmp_path / "python").write_text("not executable")
    driver_conf(PYTHON, str(tmp_path / "python"))

    assert_unavailable(
        refusal_then_recovery(tracked, driver_conf),
        f"{tmp_path}/python -E {our_jar()}",
        exit_code="none",
    )


def test_error_has_exit_code_and_stderr_of_an_interpreter_that_ends(
    tracked: Table, driver_conf: SetConf, interpreter: Callable[[str], str]
) -> None:
    command = interpreter("echo first >&2; echo 'no module named spark_ext' >&2; exit 3")

    assert_unavailable(
        refusal_then_recovery(tracked, driver_conf),
        command,
        exit_code="3",
        stderr="first\nno module named spark_ext",
    )


def test_error_has_the_end_of_a_long_stderr(
    tracked: Table, driver_conf: SetConf, interpreter: Callable[[str], str]
) -> None:
    interpreter("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done >&2; exit 1")

    stderr = parameters(refusal_then_recovery(tracked, driver_conf))["stderr"]

    assert stderr.endswith("line 19999\nline 20000")
    assert len(stderr) <= 2000


@pytest.mark.parametrize(
    "script",
    ["exec {hang}", "{hang}", "exec {hang} >&-", "trap '' TERM; {hang}; {hang}"],
    ids=["program", "script", "closes-stdout", "ignores-terminate"],
)
def test_interpreter_that_hangs_at_its_start_is_ended(
    tracked: Table,
    driver_conf: SetConf,
    interpreter: Callable[[str], str],
    tmp_path: Path,
    script: str,
) -> None:
    hang = f'"{sys.executable}" -c "import time; time.sleep(600)" {tmp_path}'
    command = interpreter(f"echo hanging >&2; {script.format(hang=hang)}")
    driver_conf(TIMEOUT, "2s")

    error = refusal_then_recovery(tracked, driver_conf)

    assert_unavailable(error, command, exit_code="none", stderr="hanging")
    assert not processes_that_name(str(tmp_path))


@pytest.mark.parametrize("timeout", ["soon", "", "30 parsecs", "1.5s", "0s", "-1s", "999us"])
def test_invalid_time_limit_is_refused(tracked: Table, driver_conf: SetConf, timeout: str) -> None:
    driver_conf(TIMEOUT, timeout)

    error = refusal_then_recovery(tracked, driver_conf)

    assert error.getCondition() == "USAGE_TRACKING_INVALID_SETTING"
    assert error.getSqlState() == "22023"
    params = parameters(error)
    assert params.pop("expected")
    assert params == {"setting": TIMEOUT, "value": timeout}


@pytest.mark.parametrize("port", ["nonsense", "", "-1", "0", "99999", "1", "12 34", "x" * 100_000])
def test_invalid_port_is_refused(
    tracked: Table,
    driver_conf: SetConf,
    interpreter: Callable[[str], str],
    tmp_path: Path,
    port: str,
) -> None:
    (tmp_path / "port").write_text(f"{port}\n")
    command = interpreter(f"cat {tmp_path / 'port'}; exec sleep 600")

    error = refusal_then_recovery(tracked, driver_conf)

    assert len(parameters(error)["reason"]) < 1000
    assert_unavailable(error, command, exit_code="none")


def test_port_without_answer_times_out(
    tracked: Table, driver_conf: SetConf, interpreter: Callable[[str], str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = interpreter(f"echo {silent.getsockname()[1]}; exec sleep 600")
        driver_conf(TIMEOUT, "2s")

        assert_unavailable(refusal_then_recovery(tracked, driver_conf), command, exit_code="none")


# The process fails in a call.


def test_error_has_exit_code_and_stderr_of_a_worker_that_dies_in_a_call(
    tracked: Table, driver_conf: SetConf, rules: Callable[..., str]
) -> None:
    command = rules("print('last words', file=sys.stderr, flush=True); os._exit(7)")

    assert_unavailable(
        refusal_then_recovery(tracked, driver_conf), command, exit_code="7", stderr="last words"
    )


def test_error_has_the_signal_of_a_worker_killed_in_a_call(
    tracked: Table, driver_conf: SetConf, rules: Callable[..., str]
) -> None:
    command = rules("os.kill(os.getpid(), 9)")

    assert_unavailable(
        refusal_then_recovery(tracked, driver_conf), command, exit_code=str(128 + signal.SIGKILL)
    )


def test_worker_that_hangs_in_a_call_is_ended(
    tracked: Table, driver_conf: SetConf, rules: Callable[..., str], tmp_path: Path
) -> None:
    command = rules("print('hanging', file=sys.stderr, flush=True); threading.Event().wait()")
    driver_conf(TIMEOUT, "2s")

    error = refusal_then_recovery(tracked, driver_conf)

    assert "2000 ms" in parameters(error)["reason"]
    assert_unavailable(error, command, exit_code="none", stderr="hanging")
    assert not processes_that_name(str(tmp_path))


def test_worker_that_fails_outside_the_rules_is_replaced(
    tracked: Table, driver_conf: SetConf, rules: Callable[..., str]
) -> None:
    command = rules("raise RuntimeError('out of order')")

    error = refusal_then_recovery(tracked, driver_conf)

    assert error.getCondition() == "USAGE_TRACKING_RULES_UNAVAILABLE"
    assert error.getSqlState() == "58000"
    assert parameters(error)["command"] == command
    assert parameters(error)["exitCode"] == "none"


@pytest.mark.parametrize("fault", ["threading.Event().wait()", "raise RuntimeError('once')"])
def test_failed_worker_is_not_called_again(
    tracked: Table, driver_conf: SetConf, rules: Callable[..., str], tmp_path: Path, fault: str
) -> None:
    """The interpreter is the same, and the fault happens once."""
    failed = tmp_path / "failed"
    rules(
        f"""
        if not os.path.exists({str(failed)!r}):
            open({str(failed)!r}, "w").write(str(os.getpid()))
            {fault}
        return super().ask(question, request)
        """
    )
    driver_conf(TIMEOUT, "2s")
    refusal(tracked)
    driver_conf(TIMEOUT, "30s")

    add_column(tracked)

    (worker,) = rule_workers(jvm_pid(tracked.spark))
    assert worker != int(failed.read_text())


def test_worker_that_died_between_two_calls_is_replaced(tracked: Table) -> None:
    add_column(tracked)
    (idle,) = rule_workers(jvm_pid(tracked.spark))
    kill(idle)
    version = tracked.log.version

    add_column(tracked)

    assert tracked.log.version == version + 1
    assert rule_workers(jvm_pid(tracked.spark)).isdisjoint({idle})


# The rules send an invalid answer.


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
def test_invalid_answer_is_refused(tracked: Table, rules: Callable[..., str], answer: str) -> None:
    rules(f"return {answer!r}")

    error = refusal(tracked)

    assert_malformed(error)
    assert answer in parameters(error)["problem"]


@pytest.mark.parametrize("answer", [None, 42, True, 1.5, b"bytes"])
def test_answer_that_is_not_text_is_refused(
    tracked: Table, rules: Callable[..., str], answer: object
) -> None:
    rules(f"return {answer!r}")

    assert_malformed(refusal(tracked))


def test_long_answer_is_truncated_in_the_error(tracked: Table, rules: Callable[..., str]) -> None:
    rules("return 'nonsense' * 100_000")

    assert len(parameters(refusal(tracked))["problem"]) < 1000


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        *(
            ("column_mapping", text)
            for text in ("nonsense", "{}", '{"rows": {}}', '{"rows": ["a"]}', '{"rows": [null]}')
        ),
        *(
            (function, json.dumps({"rows": [right, {**right, key: value}]}))
            for function, right, key, value in (
                ("column_mapping", {}, "path", "a"),
                *(("column_mapping", COLUMN, "id", value) for value in ("1", 1.5, 2**63)),
                ("column_mapping", COLUMN, "path", 1),
                ("column_mapping", COLUMN, "other", 1),
                ("column_mapping_status", STATUS, "tracked", 0),
                ("column_mapping_status", STATUS, "writerFeatures", [1]),
                ("column_mapping_status", STATUS, "droppedOrRenamed", [{"change": 1}]),
            )
        ),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    tracked: Table, rules: Callable[..., str], function: str, answer: str
) -> None:
    """Spark's own reader would return no row, or null."""
    rules(f"return {answer!r}")

    with pytest.raises(AnalysisException) as refused:
        tracked.spark.sql(f"SELECT * FROM {function}('{tracked.name}')").collect()

    assert_malformed(refused.value)
    assert answer[:200] in parameters(refused.value)["problem"]


def test_missing_removal_stage_is_refused(tracked: Table, rules: Callable[..., str]) -> None:
    rules(
        setup="""
            from spark_ext.removal import stages as module
            every = module.stages
            module.stages = lambda facts: every(facts)[1:]
            """
    )
    usage = tracked.usage

    with tracked.no_commit(), refused_with("USAGE_TRACKING_RULE_FAILED"):
        usage.remove_column_mapping(until="writers", progress=None)


@pytest.mark.parametrize("missing", ["condition", "sqlState", "message", "parameters"])
def test_incomplete_refusal_is_refused(
    tracked: Table, rules: Callable[..., str], missing: str
) -> None:
    whole = {"condition": "C", "sqlState": "22023", "message": "Cannot.", "parameters": {}}
    lacking = {key: value for key, value in whole.items() if key != missing}
    rules(f"return {json.dumps({'error': lacking})!r}")

    assert_malformed(refusal(tracked))


def test_refusal_reaches_the_user_with_its_condition_and_parameters(
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
    assert parameters(error) == {"column": "`a.b`", "table": "t"}


def test_rule_that_raises_is_named_with_its_traceback(
    tracked: Table, rules: Callable[..., str]
) -> None:
    rules(
        setup="""
            from spark_ext.process import questions
            def broken_rule(*, old, new, commit):
                raise ZeroDivisionError("in a rule")
            questions.next_metadata = broken_rule
            """
    )

    error = refusal(tracked)

    assert error.getCondition() == "USAGE_TRACKING_RULE_FAILED"
    assert error.getSqlState() == "XX000"
    assert parameters(error)["error"] == "ZeroDivisionError('in a rule')"
    assert "broken_rule" in parameters(error)["traceback"]


# Statements that need no rule succeed. On untracked tables, table functions call the rules, and
# ALTER TABLE if a stale flag exists. CREATE calls them if mapped tables are tracked by default.


@pytest.mark.parametrize(
    "function", ["column_mapping", "column_mapping_removal", "column_mapping_history"]
)
@pytest.mark.parametrize("properties", [[NAME_MODE], []], ids=["mapped", "plain"])
def test_table_function_calls_the_rules_for_an_untracked_table(
    table: Table, tmp_path: Path, driver_conf: SetConf, function: str, properties: list[str]
) -> None:
    table.create("a INT", *properties)
    driver_conf(PYTHON, str(tmp_path / "no-such-python"))

    with table.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        table.spark.sql(f"SELECT * FROM {function}('{table.name}')").collect()


@pytest.mark.parametrize("properties", [[NAME_MODE], []], ids=["mapped", "plain"])
def test_creation_calls_the_rules_when_mapped_tables_are_tracked_by_default(
    table: Table, tmp_path: Path, conf: SetConf, driver_conf: SetConf, properties: list[str]
) -> None:
    conf("spark.sparkext.usageTracking.enabledByDefault", "true")
    driver_conf(PYTHON, str(tmp_path / "no-such-python"))

    with refused_with("USAGE_TRACKING_RULES_UNAVAILABLE"):
        table.create("a INT", *properties)

    assert not table.log.commits


@pytest.mark.parametrize("change", ["ADD COLUMN b INT", "SET TBLPROPERTIES ('x' = 'y')"])
@pytest.mark.broken_table("flag_without_feature")
def test_change_of_an_untracked_table_with_a_stale_flag_calls_the_rules(
    table: Table, tmp_path: Path, driver_conf: SetConf, change: str
) -> None:
    table.create("a INT", NAME_MODE)
    table.log.append_properties({FLAG: "false"})
    driver_conf(PYTHON, str(tmp_path / "no-such-python"))

    with table.refusal("USAGE_TRACKING_RULES_UNAVAILABLE"):
        table.alter(change)

    table.insert("(1)")
    assert (table.log.is_tracked, set(table.log.columns)) == (False, {"a"})
    assert table.rows() == [(1,)]


def test_changes_of_untracked_tables_and_data_only_writes_succeed_without_the_rules(
    table: Table, tmp_path: Path, driver_conf: SetConf
) -> None:
    table.create_tracked("a INT")
    untracked = Table(table.spark, tmp_path / "untracked").create("a INT, b INT", NAME_MODE)
    driver_conf(PYTHON, str(tmp_path / "no-such-python"))

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
        kill(worker)

    table.insert("(1)")
    untracked = Table(table.spark, tmp_path / "untracked").create("a INT", NAME_MODE)
    untracked.alter("ADD COLUMN c INT")
    untracked.alter("RENAME COLUMN a TO d")

    assert rule_workers(jvm) == set()
