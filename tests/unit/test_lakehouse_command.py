# SPDX-License-Identifier: Apache-2.0
"""Arguments, progress and report files of `remove`, `align`, `track` and `untrack`."""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_ext import LakehouseProgress, LakehouseReport, TableResult
from spark_ext.__main__ import main
from spark_ext.cli import lakehouse, report_file, run_progress
from spark_ext.lakehouse.options import LakehouseOptions

MANY = 150  # more than a report shows to people by default
REPORT = LakehouseReport(
    "untrack",
    ("sales",),
    tuple(
        TableResult(table=f"sales.t{number:03}", outcome="BLOCKED", reasons=("a, b", "c"))
        for number in range(MANY)
    ),
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
        (["sales", "--order", "dearest"], "invalid choice"),
        (["sales", "--progress", "bar"], "invalid choice"),
        (["sales", "--json", "--csv"], "not allowed with"),
        (["sales", "--report", "out.xlsx"], "does not end with one of .csv, .html, .json, .txt"),
        (["sales", "--report", "no/such/folder/out.csv"], "No such file or directory"),
    ],
)
def test_wrong_arguments_are_refused_before_a_session_starts(
    capsys: pytest.CaptureFixture[str], command: str, arguments: list[str], error: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, *arguments])

    assert ended.value.code == 2
    assert error in capsys.readouterr().err


def test_commands_have_every_option_of_the_functions() -> None:
    without_argument = {"only", "progress"}

    assert {*lakehouse._OPTIONS, *without_argument} == LakehouseOptions.__annotations__.keys()


def test_report_folder_is_tried_without_leaving_a_file(tmp_path: Path) -> None:
    assert report_file.report_file(str(tmp_path / "out.csv")) == tmp_path / "out.csv"
    assert list(tmp_path.iterdir()) == []


def test_report_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(argparse.ArgumentTypeError, match="Not a directory"):
        report_file.report_file(str(tmp_path / "file" / "out.csv"))


def test_report_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.csv").mkdir()

    with pytest.raises(argparse.ArgumentTypeError, match="it is a folder"):
        report_file.report_file(str(tmp_path / "out.csv"))


def test_runs_that_write_one_report_use_files_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    while_written: list[list[Path]] = []

    class Slow(LakehouseReport):
        def as_objects(self) -> Iterator[dict[str, Any]]:
            yield from super().as_objects()
            if not while_written:
                report_file.report_file(str(path))
                report_file.write(REPORT, path)
                while_written.append(sorted(tmp_path.iterdir()))

    report_file.write(Slow("track", ("sales",), ()), path)

    (found,) = while_written
    assert len(found) == 2
    assert [*tmp_path.iterdir()] == [path]
    assert json.loads(path.read_text().splitlines()[0])["goal"] == "track"


@pytest.mark.parametrize(
    ("error", "code"),
    [(RuntimeError("lost"), 1), (KeyboardInterrupt(), 130)],
    ids=["lost", "Ctrl-C"],
)
def test_report_of_an_error_is_kept(error: BaseException, code: int) -> None:
    def fail(*where: object, **options: object) -> LakehouseReport:
        raise error

    with pytest.raises(type(error)):
        lakehouse._reported(fail, None, [], {})  # type: ignore[arg-type]
    error.report = REPORT  # type: ignore[attr-defined]
    assert lakehouse._reported(fail, None, [], {}) == (REPORT, code)  # type: ignore[arg-type]


# Report files.


@pytest.mark.parametrize("form", ["csv", "html", "json", "txt"])
def test_report_file_has_every_table(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"out.{form}"
    path.write_text("an earlier report")

    report_file.write(REPORT, path)

    assert sorted(tmp_path.iterdir()) == [path]
    names = re.findall(r"\bsales\.t\d{3}\b", path.read_text())
    assert names == [each.table for each in REPORT.tables]


def test_csv_report_has_the_columns_of_the_result(tmp_path: Path) -> None:
    report_file.write(REPORT, tmp_path / "out.csv")

    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (rows[0]["outcome"], rows[0]["reasons"]) == ("BLOCKED", "a, b; c")


def test_json_report_has_the_sums_first(tmp_path: Path) -> None:
    report_file.write(REPORT, tmp_path / "out.json")

    sums, *tables = map(json.loads, (tmp_path / "out.json").read_text().splitlines())
    assert sums["sums"] == [
        {"outcome": "BLOCKED", "numTables": MANY, "numFiles": 0, "sizeInBytes": 0}
    ]
    assert [each["table"] for each in tables] == [each.table for each in REPORT.tables]


# Progress.


def progress(*, finished: bool = False) -> LakehouseProgress:
    return LakehouseProgress(
        phase="run", tables_done=3, tables=9, seconds=4.0, running=("a\nb",), finished=finished
    )


def test_progress_for_schedulers_is_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    callback = run_progress.callback("json")
    assert callback is not None

    callback(progress())

    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert json.loads(line)["running"] == ["a\nb"]
    assert json.loads(line)["tablesDone"] == 3


def test_progress_for_people_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    callback = run_progress.callback("lines")
    assert callback is not None

    callback(progress())

    assert capsys.readouterr().err == "run: 3 of 9 tables, 4 s, now a\\nb\n"


def test_progress_in_a_terminal_replaces_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    callback = run_progress.callback("lines")
    assert callback is not None

    callback(progress())
    callback(progress(finished=True))

    first, last = capsys.readouterr().err.split("\r\x1b[K")[1:]
    assert first == "run: 3 of 9 tables,"
    assert last == f"{first}\n"


def test_no_progress_is_no_callback() -> None:
    assert run_progress.callback("none") is None
