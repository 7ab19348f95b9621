# SPDX-License-Identifier: Apache-2.0
"""Tests the jobs of the nightly workflow, the releases that it finds, and its issue."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from spark_ext.launch.releases import RELEASES
from tests.matrix import newest, report, tested
from tests.matrix.newest import fetch_delta_jar, released, unlisted
from tests.matrix.nightly import Job, jobs
from tests.matrix.pairs import DEFAULT, SHORT, WHOLE
from tests.matrix.tested import failures, outcome_of
from tests.support.pages import CHECKOUT

SPARKS = [spark for sparks in RELEASES["sparks"].values() for spark in sparks]
DELTAS = list(RELEASES["deltas"])
NEWEST_LINE = list(RELEASES["sparks"])[-1]
NEWEST_SPARK = SPARKS[-1]
NIGHTS = [date(2026, 11, 23) + timedelta(days) for days in range(7 * len(WHOLE))]


def has_listed_jar(delta: str, line: str) -> bool:
    return line in RELEASES["deltas"].get(delta, ())


# Jobs.


def pairs_of(job: Job) -> list[str]:
    (quoted,) = re.findall(r"PAIRS='(.+)'", job.command)
    return quoted.split(" ")


def test_every_night_runs_short_pairs_and_one_whole_pair() -> None:
    turns = []
    for night in NIGHTS:
        found = [job for job in jobs(night, []) if "PAIRS" in job.command]
        short = [pairs_of(job) for job in found if "SHORT=--short" in job.command]
        (whole,) = (pairs_of(job) for job in found if "SHORT" not in job.command)
        assert [pair for pairs in short for pair in pairs] == SHORT
        assert max(map(len, short)) <= 4
        turns += whole

    assert turns[: len(WHOLE)] == turns[len(WHOLE) : 2 * len(WHOLE)]
    assert set(turns) == set(WHOLE)


def test_unlisted_pair_has_a_job() -> None:
    more = {*jobs(NIGHTS[1], ["9.0.0+9.1.0"])} - {*jobs(NIGHTS[1], [])}

    assert more == {
        Job("unlisted pair 9.0.0+9.1.0", "make test-pairs SHORT=--short PAIRS='9.0.0+9.1.0'")
    }


@pytest.mark.parametrize(
    "command",
    [
        "make test-slow PYTEST=tests.matrix.tested",
        "make test-integration TEST_SETTINGS=vendors PYTEST=tests.matrix.tested",
    ],
)
def test_slow_jobs_run_once_a_week(command: str) -> None:
    days = [
        night.weekday() for night in NIGHTS for job in jobs(night, []) if job.command == command
    ]

    assert set(days) == {0}
    assert len(days) == len(NIGHTS) // 7


@pytest.mark.matrix
def test_make_prints_the_jobs_of_the_day() -> None:
    command = ["make", "--silent", "nightly-jobs"]
    printed = subprocess.run(command, cwd=CHECKOUT, check=True, stdout=subprocess.PIPE).stdout

    found = [Job(**job) for job in json.loads(printed)]
    short = [job for job in found if job.name.startswith("short pairs")]

    assert [pair for job in short for pair in pairs_of(job)] == SHORT
    assert sum(job.name.startswith("whole pair") for job in found) == 1


# New releases.


def test_no_pair_is_new_when_the_list_has_all_releases() -> None:
    assert list(unlisted(SPARKS, DELTAS, has_listed_jar)) == []


def test_new_spark_is_paired_with_the_newest_delta_that_has_a_jar() -> None:
    spark = f"{NEWEST_LINE}.99"

    assert list(unlisted([*SPARKS, spark], DELTAS, has_listed_jar)) == [f"{spark}+{DELTAS[-1]}"]


def test_new_delta_is_paired_with_the_newest_spark_of_each_line_with_a_jar() -> None:
    def has_jar(delta: str, line: str) -> bool:
        return has_listed_jar(delta, line) or (delta, line) == ("99.0.0", NEWEST_LINE)

    assert list(unlisted(SPARKS, [*DELTAS, "99.0.0"], has_jar)) == [f"{NEWEST_SPARK}+99.0.0"]


def test_new_line_of_spark_is_ignored_until_a_delta_has_a_jar() -> None:
    def has_jar(delta: str, line: str) -> bool:
        return has_listed_jar(delta, line) or (delta, line) == ("99.0.0", "99.0")

    sparks = [*SPARKS, "99.0.0", "99.0.1"]
    assert list(unlisted(sparks, DELTAS, has_listed_jar)) == []
    assert list(unlisted(sparks, [*DELTAS, "99.0.0"], has_jar)) == ["99.0.1+99.0.0"]


@pytest.mark.parametrize("spark", ["99.0.0.dev1", "99.0.0rc1", "3.5.99", "2.4.8"])
def test_prereleases_and_old_lines_are_not_new(spark: str) -> None:
    assert list(unlisted([*SPARKS, spark], DELTAS, lambda *_: True)) == list(
        unlisted(SPARKS, DELTAS, lambda *_: True)
    )


def test_releases_are_compared_as_numbers() -> None:
    sparks = [*SPARKS, f"{NEWEST_LINE}.9", f"{NEWEST_LINE}.10"]

    (pair,) = unlisted(sparks, DELTAS, has_listed_jar)

    assert pair.startswith(f"{NEWEST_LINE}.10+")


# Takes a name and Python code, and returns the command.
Program = Callable[[str, str], list[str]]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Returns a function that writes a program, in the first folder of the path."""

    def write(name: str, code: str) -> list[str]:
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\nimport json, sys\nfrom pathlib import Path\n{code}\n")
        path.chmod(0o755)
        return [str(path)]

    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return write


def test_pip_lists_the_releases(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = "pyspark (4.2.1)\nAvailable versions: 4.2.1, 4.2.0\n  INSTALLED: 4.2.0"
    (python,) = program("python", f"print({listed!r} if sys.argv[-1] == 'pyspark' else 'nothing')")
    monkeypatch.setattr(sys, "executable", python)

    assert released("pyspark") == ["4.2.1", "4.2.0"]
    with pytest.raises(ValueError, match="delta-spark"):
        released("delta-spark")


def test_maven_reports_which_jars_exist(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "DELTAS", tmp_path / "deltas")
    maven = program(
        "mvn",
        "artifact, folder = (word.partition('=')[2] for word in sys.argv[-2:])\n"
        "group, name, version = artifact.split(':')\n"
        "if version == '5.0.0':\n"
        "    Path(folder).mkdir()\n"
        "    (Path(folder) / f'{name}-{version}.jar').touch()\n"
        "elif version == '6.0.0':\n"
        "    print(f'Could not find artifact {group}:{name}:jar:{version} in central')\n"
        "    sys.exit(1)\n"
        "else:\n"
        "    sys.exit('no network')\n",
    )

    assert fetch_delta_jar("5.0.0", "4.2", maven)
    assert fetch_delta_jar("5.0.0", "4.2", ["false"])  # the jar exists
    assert not fetch_delta_jar("6.0.0", "4.2", maven)
    with pytest.raises(ValueError, match=r"delta-spark_4.2_2.13 7.0.0"):
        fetch_delta_jar("7.0.0", "4.2", maven)


# The issue.

JUNIT = """<testsuites><testsuite tests="3" failures="1" errors="1" skipped="0">
<testcase classname="tests.integration.test_a" name="test_one"><failure message="x"/></testcase>
<testcase classname="tests.integration.test_a" name="test_two"/>
<testcase classname="tests.integration.test_b" name="test_three"><error message="x"/></testcase>
</testsuite></testsuites>"""


def test_report_names_failed_tests(tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(JUNIT)

    assert failures(tmp_path / "report.xml") == [
        "tests.integration.test_a::test_one",
        "tests.integration.test_b::test_three",
    ]
    assert outcome_of(tmp_path / "report.xml") == (1, 2, 0)
    assert len(failures(tmp_path / "none.xml")) == 1


@pytest.fixture
def failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the file for the failures of a run, which an earlier run wrote."""
    monkeypatch.setattr(tested, "HOME", tmp_path)
    monkeypatch.setattr(tested, "FAILED", tmp_path / "failed.json")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # plugins take most of the time
    (tmp_path / "failed.json").write_text("{}")
    return tmp_path / "failed.json"


@pytest.mark.parametrize(
    ("code", "arguments", "names"),
    [
        (1, (), ["test_it::test_one"]),
        (5, ("-k", "none"), ["pytest itself, with exit code 5"]),
        (4, ("--no-such-option",), ["pytest itself, which wrote no report"]),
    ],
)
def test_run_without_a_pair_names_failed_tests_under_the_default_pair(
    tmp_path: Path, failed: Path, code: int, arguments: tuple[str, ...], names: list[str]
) -> None:
    (tmp_path / "test_it.py").write_text("def test_one(): assert False\ndef test_two(): pass\n")

    assert tested.main([str(tmp_path), f"--rootdir={tmp_path}", *arguments]) == code

    assert json.loads(failed.read_text()) == {DEFAULT: names}


def test_successful_run_writes_no_names(tmp_path: Path, failed: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_two(): pass\n")

    assert tested.main([str(tmp_path)]) == 0

    assert not failed.exists()


def job_folder(home: Path, number: int, job: Job, failed: dict[str, list[str]] | None) -> None:
    folder = home / f"failed-{number}"
    folder.mkdir()
    (folder / "job.json").write_text(json.dumps(job._asdict()))
    if failed is not None:
        (folder / "failed.json").write_text(json.dumps(failed))


def test_issue_contains_jobs_pairs_and_tests(tmp_path: Path) -> None:
    job_folder(tmp_path, 0, Job("short pairs", "make a"), {"4.0.1+4.1.0": ["test_x", "test_y"]})
    job_folder(tmp_path, 1, Job("slow tests", "make b"), None)

    assert report.body(tmp_path, "the run").splitlines() == [
        "What failed in the run:",
        "",
        "- short pairs: `make a`",
        "  - 4.0.1+4.1.0: `test_x`",
        "  - 4.0.1+4.1.0: `test_y`",
        "- slow tests: `make b`",
    ]


def test_issue_is_neither_empty_nor_endless(tmp_path: Path) -> None:
    assert "No job reported a reason" in report.body(tmp_path / "none", "the run")

    job_folder(tmp_path, 0, Job("a", "make a"), {"4.0.1+4.1.0": ["test"] * 1000})

    lines = report.body(tmp_path, "the run").splitlines()
    assert len(lines) < 100
    assert lines[-1] == "  - 4.0.1+4.1.0: and 950 more"


GH = """
log = Path(__file__).with_name('gh.log')
arguments = sys.argv[1:3]
if arguments == ['issue', 'list']:
    print(json.dumps({issues}))
else:
    log.write_text(json.dumps([sys.argv[1:], sys.stdin.read()]))
"""


@pytest.mark.parametrize(
    ("issues", "arguments"),
    [
        ([], ["issue", "create", "--title", report.TITLE]),
        ([{"number": 3, "title": "another"}], ["issue", "create", "--title", report.TITLE]),
        ([{"number": 7, "title": report.TITLE}], ["issue", "comment", "7"]),
    ],
)
def test_report_comments_on_the_open_issue(
    program: Program,
    tmp_path: Path,
    issues: list[dict[str, object]],
    arguments: list[str],
) -> None:
    program("gh", GH.replace("{issues}", repr(issues)))

    report.publish("what failed")

    assert json.loads((tmp_path / "gh.log").read_text()) == [
        [*arguments, "--body-file", "-"],
        "what failed",
    ]
