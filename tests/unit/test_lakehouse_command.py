# SPDX-License-Identifier: Apache-2.0
"""Tests arguments, progress and files of the commands over many tables, and how a run ends."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
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
from spark_ext.tables.find import LakehouseOptions

MANY = 150  # a report shows fewer tables by default
REPORT = LakehouseReport(
    "untrack",
    ("sales",),
    tuple(
        TableResult(table=f"sales.t{number:03}", outcome="BLOCKED", reasons=("a, b", "c"))
        for number in range(MANY)
    ),
)
COMPLETE = replace(REPORT, tables=(TableResult(table="sales.t", outcome="DONE"),))
PROGRESS = LakehouseProgress(phase="run", tables_done=3, tables=9, seconds=4.0, running=("a\nb",))
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


class Ended:
    """Stands for the functions of `calls`, in commands without a session."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.settings: list[dict[str, str]] = []
        self.ends: Callable[..., Any] = lambda **options: REPORT

    def session(self, command: str, settings: dict[str, str]) -> AbstractContextManager[None]:
        self.settings.append(settings)
        return nullcontext()

    def __call__(self, spark: None, *where: str, **options: Any) -> Any:
        self.asked.append({"where": where, **options})
        return self.ends(**options)


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Ended:
    ended = Ended()
    monkeypatch.setattr(session, "own_session", ended.session)
    for name in ("remove_column_mapping", "align_names", "track", "untrack"):
        monkeypatch.setattr(calls, name, ended)
    monkeypatch.setattr(inspect, "dropped_columns", ended)
    return ended


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("remove sales hr --until readers", {"until": "readers"}),
        ("align sales hr --to-name-mode", {"to_name_mode": True}),
        ("track sales hr --include a --include b", {"include": ["a", "b"]}),
        ("track sales hr --exclude c --max-bytes 1KB", {"exclude": ["c"], "max_bytes": 1000}),
        ("untrack sales hr --max-time 1h", {"max_time": timedelta(hours=1)}),
        ("untrack sales hr --parallel 2 --on-error 3", {"parallel": 2, "on_error": 3}),
        ("untrack sales hr --on-error continue", {"on_error": "continue"}),
        ("track sales hr --dry-run", {"dry_run": True}),
        ("track sales hr", {}),
    ],
)
def test_function_gets_the_options_that_are_given_and_no_other(
    ended: Ended, command: str, options: dict[str, Any]
) -> None:
    assert main([*command.split(), "--progress", "none"]) == 1
    assert ended.asked == [{"where": ("sales", "hr"), "progress": None, **options}]


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


@pytest.mark.usefixtures("ended")
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


@pytest.mark.usefixtures("ended")
def test_error_without_a_report_ends_the_run() -> None:
    assert end_with(RuntimeError("no schema")) == (2, [], [])
    with pytest.raises(KeyboardInterrupt):
        end_with(KeyboardInterrupt())


def test_command_has_a_fair_session_and_prints_every_table_for_programs(
    ended: Ended, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["untrack", "sales", "--json"]) == 1

    assert [each["spark.scheduler.mode"] for each in ended.settings] == ["FAIR"]
    names = [json.loads(line)["table"] for line in capsys.readouterr().out.splitlines()[1:]]
    assert names == [each.table for each in REPORT.tables]


def test_report_that_cannot_be_written_has_an_exit_code_and_the_others_are_written(
    ended: Ended, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost, file = tmp_path / "lost" / "out.html", tmp_path / "out.json"
    lost.parent.mkdir()
    ended.ends = lambda **options: lost.parent.rmdir() or COMPLETE  # type: ignore[func-returns-value]

    assert main(["untrack", "sales", "--report", str(lost), "--report", str(file)]) == 1

    shown = capsys.readouterr()
    assert f"Cannot write `{lost}`" in shown.err
    assert "complete: true" in shown.out
    assert json.loads(file.read_text())["complete"]


@pytest.mark.parametrize(("stream", "code"), [("stdout", 1), ("stderr", 0)])
def test_report_file_is_written_when_output_has_no_reader(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream: str, code: int
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended.ends = lambda progress, **options: progress(PROGRESS) or COMPLETE

    with suppress(BrokenPipeError), os.fdopen(writer, "w", buffering=1) as unread:
        monkeypatch.setattr(f"sys.{stream}", unread)
        assert main(["untrack", "sales", "--report", str(tmp_path / "out.json")]) == code

    assert json.loads((tmp_path / "out.json").read_text())["complete"]


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
def test_call_that_finds_no_table_has_an_exit_code(ended: Ended, dry_run: list[str]) -> None:
    ended.ends = lambda **options: replace(REPORT, tables=(), dry_run=bool(dry_run))

    assert main(["untrack", "sales", *dry_run]) == 1


@pytest.mark.parametrize("error", [None, RuntimeError("lost")], ids=["no error", "an error"])
def test_certificate_is_on_the_disk_before_anything_is_printed(
    ended: Ended, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception | None
) -> None:
    file = tmp_path / "ssn.json"

    class AfterTheFile(io.StringIO):
        def write(self, text: str) -> int:
            assert file.exists()
            return super().write(text)

    def dropped_columns(**options: object) -> Certificate:
        if error is not None:
            error.report = ERASURES  # type: ignore[attr-defined]
            raise error
        return ERASURES

    ended.ends = dropped_columns
    out, err = AfterTheFile(), AfterTheFile()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)

    assert main(["dropped", "sales", "--column", "ssn", "--certificate", str(file)]) == 2
    assert (ended.asked[0]["column"], ended.asked[0]["certificate"]) == ("ssn", None)
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
