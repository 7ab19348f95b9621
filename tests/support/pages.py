# SPDX-License-Identifier: Apache-2.0
"""Reads the fenced blocks of README.md and docs/*.md, and decides which test runs each.

A block of `sql` or `python` runs with its page, and the next block of `text` is its output. In
Python, a comment behind a `print` is the output of the line. `ELSEWHERE` lists blocks of other
tests, and `NOT_RUN` blocks that no test runs.
"""

from __future__ import annotations

import io
import re
import shlex
import tokenize
from dataclasses import dataclass, replace
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PAGES = [
    path.relative_to(CHECKOUT).as_posix()
    for path in (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))
]
RUN, OUTPUT = ("sql", "python"), "text"

# Sections whose blocks another test runs, and the file of the test, which names the section.
ELSEWHERE = {
    ("README.md", "Install"): "tests/packaging/test_make_wheel.py",
    ("docs/audit.md", "The command"): "tests/integration/test_audited_tables.py",
    ("docs/erasure.md", "The command"): "tests/integration/test_dropped_data.py",
    ("docs/lakehouse.md", "On a command line"): "tests/ways_in/test_lakehouse_runs.py",
    ("docs/lakehouse.md", "Every night"): "tests/ways_in/test_lakehouse_nights.py",
    ("docs/lakehouse.md", "The command of a survey"): "tests/integration/test_surveyed_tables.py",
    ("docs/object-stores.md", "Set-up"): "tests/object_stores/test_page.py",
    ("docs/object-stores.md", "Copies made by S3"): "tests/object_stores/test_page.py",
    ("docs/install.md", "Further packages"): "tests/ways_in/test_spark_submit.py",
    ("docs/install.md", "From a command line"): "tests/ways_in/test_spark_submit.py",
    ("docs/install.md", "Shells"): "tests/ways_in/test_shells.py",
    ("docs/install.md", "Thrift server"): "tests/ways_in/test_thrift_server.py",
    ("docs/install.md", "Jars in Spark's own folder"): "tests/ways_in/test_shells.py",
    ("docs/install.md", "Scala and Java"): "tests/ways_in/test_java_application.py",
    ("docs/install.md", "Maven coordinates"): "tests/packaging/test_release.py",
    ("docs/install.md", "Spark Connect"): "tests/ways_in/test_connect.py",
    ("docs/errors.md", "A session does not start"): "tests/integration/test_doctor_session.py",
}

# Blocks that no test runs, by their first words, each with the reason.
NOT_RUN = {
    ("docs/install.md", "spark-submit --jars /usr/share/aws"): "needs a cluster of EMR",
    ("docs/tracking.md", "models:"): "needs dbt, which no test installs",
    ("docs/install.md", "spark-submit $(python -m spark_ext submit-args --deploy"): (
        "needs a cluster with a manager"
    ),
    ("docs/object-stores.md", '{"Rules": ['): "a rule for a bucket, which no server here has",
}

# Values that differ in each run, and their common form in the page and in the output.
VOLATILE = {
    # A page may cut a UUID short, and a column of `show` is as wide as its widest value.
    r"\bcol-[0-9a-f]{8}-(?:\.\.|[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})": "col-<uuid>",
    r"\b(\w\w/)?part-\d{5}-[\w.-]+\.parquet": "<file>",
    r"-{2,}": "--",
    r" {2,}": " ",
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?": "<time>",
    r"\b\d+\.\d s\b": "<seconds>",
    r"(?<![\w.])\d+\.\d(?![\w.])": "<seconds>",  # a number under a heading
    # The sizes of files differ between releases of Parquet.
    r"\b\d{3,4}\b": "<bytes>",
    r"(?:file:/{1,3}|(?<![\w/])/)(?:[\w.@=%-]+/)+[\w.@=%-]*": "<path>",
}


@dataclass(frozen=True)
class Block:
    """Contains a fenced block, and its documented output."""

    page: str
    section: str
    line: int
    language: str
    text: str
    output: str | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> list[Block]:
    """Returns all blocks of a page in order, each with its output."""
    found: list[Block] = []
    section, start, opened = "", 0, None
    lines = (CHECKOUT / page).read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if opened is None and line.startswith("#"):
            section = line.lstrip("# ")
        elif opened is None and line.startswith("```"):
            opened, start = line[3:], number
        elif opened is not None and line == "```":
            text = "\n".join(lines[start : number - 1])
            if opened == OUTPUT and found and found[-1].output is None:
                found[-1] = replace(found[-1], output=text)
            else:
                found.append(Block(page, section, start, opened, text))
            opened = None
    return found


def shown(block: Block) -> str | None:
    """Returns the documented output of a block, or None if the block has none."""
    if block.output is None and block.language == "python":
        lines = block.text.splitlines()
        tokens = tokenize.generate_tokens(io.StringIO(block.text).readline)
        comments = [
            token.string.lstrip("# ")
            for token in tokens
            if token.type == tokenize.COMMENT and lines[token.start[0] - 1].startswith("print(")
        ]
        return "\n".join(comments) or None
    return block.output


def comparable(text: str) -> list[str]:
    """Returns the lines of an output without values that differ in each run."""
    for volatile, stand_in in VOLATILE.items():
        text = re.sub(volatile, stand_in, text)
    return [line.strip() for line in text.strip().splitlines()]


def commands(page: str, section: str) -> list[list[str]]:
    """Returns the arguments of each `python -m spark_ext` or `spark-ext` in a section."""
    lines = [
        re.sub("^spark-ext ", "python -m spark_ext ", line)
        for block in blocks(page)
        if (block.section, block.language) == (section, "sh")
        for line in block.text.splitlines()
    ]
    words = [shlex.split(line, comments=True) for line in lines]
    assert [line[:3] for line in words] == [["python", "-m", "spark_ext"]] * len(words) != []
    return [line[3:] for line in words]


def is_run(block: Block) -> bool:
    return block.language in RUN and reason(block) is None


def reason(block: Block) -> str | None:
    """Returns why a block does not run with its page, or None if it does."""
    for (page, start), why in NOT_RUN.items():
        if block.page == page and block.text.startswith(start):
            return why
    return ELSEWHERE.get((block.page, block.section))
