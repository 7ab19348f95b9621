# SPDX-License-Identifier: Apache-2.0
"""Tests arguments, progress and files of the commands over many tables, and how a run ends."""

from __future__ import annotations

import argparse
import io
import json
import re
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from spark_ext import (
    Certificate,
    DroppedColumns,
    LakehouseInterrupted,
    LakehouseProgress,
    LakehouseReport,
    TableResult,
)
from spark_ext.__main__ import main
from spark_ext.cli import output, session
from spark_ext.cli.arguments import output_file
from spark_ext.cli.commands import COMMANDS
from spark_ext.errors import InvalidFileNameError
from spark_ext.tables import calls, inspect
from spark_ext.tables.calls import LakehouseOptions

MANY = 150  # a report shows fewer tables by default
REPORT = LakehouseReport(
    "untrack",
    ("sales",),
    tuple(
        TableResult(table=f"sales.t{number:03}", outcome="BLOCKED", reasons=("a, b", "c"))
        for number in range(MANY)
    ),
)
ERASURES = Certificate(
    column="ssn",
    where=("sales",),
    filters=(),
    tables=(DroppedColumns("t", error="E", message="m"),),
    num_views=0,
    time=datetime.now(timezone.utc),
    version="1",
)


# Arguments.


@pytest.mark.parametrize("command", ["remove", "align", "track", "untrack"])
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "the following arguments are required"),
        (["sales", "--max-bytes", "500"], "500GB"),
        (["sales", "--max-bytes", "9" * 400 + "GB"], "500GB"),
        (["sales", "--max-time", "6"], "1h30m"),
        (["sales", "--max-time", "999999d" * 1001], "1h30m"),
        (["sales", "--parallel", "0"], "from 1"),
        (["sales", "--on-error", "0"], "from 1"),
        (["sales", "--on-error", "stop"], "from 1"),
        (["sales", "--progress", "bar"], "invalid choice"),
        (["sales", "--json", "--all"], "not allowed with"),
        (["sales", "--report", "out.xlsx"], "does not end with one of .html, .json"),
        (["sales", "--report", "no/such/folder/out.json"], "No such file or directory"),
    ],
)
def test_wrong_arguments_are_refused_before_a_session_starts(
    capsys: pytest.CaptureFixture[str], command: str, arguments: list[str], error: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, *arguments])

    assert ended.value.code == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("name", ["remove", "align", "track", "untrack"])
def test_command_has_every_option_of_the_functions(name: str) -> None:
    parser = argparse.ArgumentParser()
    (command,) = [each for each in COMMANDS if each.name == name]

    command.add_arguments(parser)

    arguments = {action.dest for action in parser._actions}
    assert LakehouseOptions.__annotations__.keys() - arguments == {"only"}


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize(
    ("command", "arguments", "function", "options"),
    [
        ("remove", "--until readers", "remove_column_mapping", {"until": "readers"}),
        ("align", "--to-name-mode", "align_names", {"to_name_mode": True}),
        (
            "track",
            "--include a --include b --exclude c --max-bytes 1KB --max-time 1h",
            "track",
            {
                "include": ["a", "b"],
                "exclude": ["c"],
                "max_bytes": 1000,
                "max_time": timedelta(hours=1),
            },
        ),
        (
            "untrack",
            "--parallel 2 --on-error 3 --dry-run",
            "untrack",
            {"parallel": 2, "on_error": 3, "dry_run": True},
        ),
        ("untrack", "--on-error continue", "untrack", {"on_error": "continue"}),
        ("track", "", "track", {}),
    ],
)
def test_function_gets_the_options_that_are_given_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    arguments: str,
    function: str,
    options: dict[str, Any],
) -> None:
    calls_with: list[dict[str, Any]] = []

    def called(spark: None, *where: str, **options: Any) -> LakehouseReport:
        calls_with.append({"where": where, **options})
        return REPORT

    monkeypatch.setattr(calls, function, called)

    assert main([command, "sales", "main.hr", *arguments.split(), "--progress", "none"]) == 1
    assert calls_with == [{"where": ("sales", "main.hr"), "progress": None, **options}]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("out.json", None),
        ("file/out.json", "Not a directory"),
        ("folder.json", "Is a directory"),
    ],
)
def test_report_folder_is_checked_without_creating_a_file(
    tmp_path: Path, name: str, error: str | None
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.json").mkdir()

    if error is None:
        assert output_file([".json"], str(tmp_path / name)) == tmp_path / name
    else:
        with pytest.raises(argparse.ArgumentTypeError, match=error):
            output_file([".json"], str(tmp_path / name))
    assert len(list(tmp_path.iterdir())) == 2


def test_writers_of_one_report_use_different_files(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    while_written: list[list[Path]] = []

    class Slow(LakehouseReport):
        def as_objects(self) -> Iterator[dict[str, Any]]:
            yield from super().as_objects()
            if not while_written:
                output_file([".json"], str(path))
                REPORT.write(path)
                while_written.append(sorted(tmp_path.iterdir()))

    Slow("track", ("sales",), ()).write(path)

    (found,) = while_written
    assert len(found) == 2
    assert [*tmp_path.iterdir()] == [path]
    assert json.loads(path.read_text())["goal"] == "track"


# The end of a run.


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs commands without a session."""
    monkeypatch.setattr(session, "own_session", lambda *_: nullcontext())


def end_with(
    error: BaseException | None,
) -> tuple[int, list[LakehouseReport], list[LakehouseReport]]:
    """Returns the exit code of a run, and its written and shown reports.

    A signal arrives while the report is written, or at the end of a call without an error.
    """
    written: list[LakehouseReport] = []
    shown: list[LakehouseReport] = []

    def call(spark: object) -> LakehouseReport:
        if error is not None:
            raise error
        signal.raise_signal(signal.SIGINT)
        return REPORT

    def write(report: LakehouseReport) -> bool:
        if error is not None:
            signal.raise_signal(signal.SIGINT)
        written.append(report)
        return True

    code = session.run(
        *("track", call), code_of=lambda _: 0, write=write, show=shown.append, failed=1
    )
    return code, written, shown


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, 0),
        (RuntimeError("lost"), 1),
        (KeyboardInterrupt(), 130),
        (LakehouseInterrupted(REPORT, signal.SIGTERM), 143),
    ],
    ids=["no error", "lost", "Ctrl-C", "SIGTERM"],
)
def test_report_is_written_when_a_further_signal_arrives(
    error: BaseException | None, code: int
) -> None:
    if error is not None:
        error.report = REPORT  # type: ignore[attr-defined]

    assert end_with(error) == (code, [REPORT], [REPORT])


@pytest.mark.usefixtures("no_session")
def test_error_without_a_report_ends_the_run() -> None:
    assert end_with(RuntimeError("no schema")) == (2, [], [])
    with pytest.raises(KeyboardInterrupt):
        end_with(KeyboardInterrupt())


@pytest.fixture
def ended_with_report(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Lets `untrack` end with a report, and returns the settings of the sessions that started."""
    settings: list[dict[str, str]] = []

    def own_session(command: str, own: dict[str, str]) -> AbstractContextManager[None]:
        settings.append(own)
        return nullcontext()

    monkeypatch.setattr(session, "own_session", own_session)
    monkeypatch.setattr(calls, "untrack", lambda *where, **options: REPORT)
    return settings


def test_command_has_a_fair_session_and_prints_every_table_for_programs(
    ended_with_report: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["untrack", "sales", "--json"]) == 1

    assert [each["spark.scheduler.mode"] for each in ended_with_report] == ["FAIR"]
    names = [json.loads(line)["table"] for line in capsys.readouterr().out.splitlines()[1:]]
    assert names == [each.table for each in REPORT.tables]


@pytest.mark.usefixtures("ended_with_report")
def test_report_that_cannot_be_written_has_an_exit_code_and_the_others_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "lost" / "out.html", tmp_path / "out.json"]
    files[0].parent.mkdir()

    def complete(*where: object, **options: object) -> LakehouseReport:
        files[0].parent.rmdir()
        return LakehouseReport(
            "untrack", ("sales",), (TableResult(table="sales.t", outcome="DONE"),)
        )

    monkeypatch.setattr(calls, "untrack", complete)
    options = [option for file in files for option in ("--report", str(file))]

    assert main(["untrack", "sales", *options]) == 1

    shown = capsys.readouterr()
    assert f"Cannot write `{files[0]}`" in shown.err
    assert "complete: true" in shown.out
    assert json.loads(files[1].read_text())["complete"]


@pytest.mark.usefixtures("ended_with_report")
@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_call_that_finds_no_table_has_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, dry_run: list[str]
) -> None:
    def nothing(*where: object, dry_run: bool = False, **options: object) -> LakehouseReport:
        return LakehouseReport("untrack", ("sales",), (), dry_run)

    monkeypatch.setattr(calls, "untrack", nothing)

    assert main(["untrack", "sales", *dry_run]) == 1


@pytest.mark.usefixtures("no_session")
@pytest.mark.parametrize("error", [None, RuntimeError("lost")], ids=["no error", "an error"])
def test_certificate_is_on_the_disk_before_anything_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    file = tmp_path / "ssn.json"

    class AfterTheFile(io.StringIO):
        def write(self, text: str) -> int:
            assert file.exists()
            return super().write(text)

    def dropped_columns(*where: object, **options: object) -> Certificate:
        assert (options["column"], options["certificate"]) == ("ssn", None)
        if error is not None:
            error.report = ERASURES  # type: ignore[attr-defined]
            raise error
        return ERASURES

    out, err = AfterTheFile(), AfterTheFile()
    monkeypatch.setattr(inspect, "dropped_columns", dropped_columns)
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)

    assert main(["dropped", "sales", "--column", "ssn", "--certificate", str(file)]) == 2
    assert json.loads(file.read_text())["tables"][0]["table"] == "t"
    assert "UNREADABLE" in out.getvalue()
    assert ("lost" in err.getvalue()) == (error is not None)


def test_file_that_cannot_be_written_is_deleted_and_the_earlier_one_is_kept(
    tmp_path: Path,
) -> None:
    file = tmp_path / "out.json"
    file.write_text("an earlier report")

    class Failing(LakehouseReport):
        def as_objects(self) -> Iterator[dict[str, Any]]:
            yield from super().as_objects()
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        Failing("track", (), ()).write(file)

    assert [*tmp_path.iterdir()] == [file]
    assert file.read_text() == "an earlier report"
    with pytest.raises(InvalidFileNameError, match="\\.html, \\.json"):
        REPORT.write(tmp_path / "out.xlsx")
    with pytest.raises(InvalidFileNameError, match="\\.json"):
        ERASURES.write(tmp_path / "out.html")
    assert [*tmp_path.iterdir()] == [file]


# Report files.


def test_report_files_have_every_table(tmp_path: Path) -> None:
    for file in (tmp_path / "out.html", tmp_path / "out.json"):
        file.write_text("an earlier report")
        REPORT.write(file)
        names = re.findall(r"\bsales\.t\d{3}\b", file.read_text())
        assert [*dict.fromkeys(names)] == [each.table for each in REPORT.tables]

    assert len([*tmp_path.iterdir()]) == 2
    assert json.loads((tmp_path / "out.json").read_text())["sums"] == [
        {"outcome": "BLOCKED", "numTables": MANY, "numFiles": 0, "sizeInBytes": 0}
    ]


# Progress.


PROGRESS = LakehouseProgress(phase="run", tables_done=3, tables=9, seconds=4.0, running=("a\nb",))


def shown(how: str, capsys: pytest.CaptureFixture[str], *reports: LakehouseProgress) -> str:
    callback = output.progress(how)
    assert callback is not None
    for report in reports:
        callback(report)
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_progress_is_an_object_or_a_line_per_report(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = map(json.loads, shown("json", capsys, PROGRESS).splitlines())
    assert (line["running"], line["tablesDone"]) == (["a\nb"], 3)
    assert shown("lines", capsys, PROGRESS) == "run: 3 of 9 tables, 4 s, now a\\nb\n"
    assert output.progress("none") is None


def test_progress_in_a_terminal_replaces_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")

    text = shown("lines", capsys, PROGRESS, replace(PROGRESS, finished=True))

    first, last = text.split("\r\x1b[K")[1:]
    assert (first, last) == ("run: 3 of 9 tables,", f"{first}\n")
