# SPDX-License-Identifier: Apache-2.0
"""Compares the pages for users with the code: links, commands, conditions, settings, examples."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import spark_ext
from spark_ext import __main__ as command_line
from spark_ext.cli.commands import COMMANDS
from tests.support.pages import ELSEWHERE, NOT_RUN, OUTPUT, blocks, is_run, reason, shown
from tests.support.pages import PAGES as RUN_PAGES
from tests.unit.test_settings import DECLARED, SETTING

CHECKOUT = Path(__file__).parents[2]
README = CHECKOUT / "README.md"
ERRORS = CHECKOUT / "docs" / "errors.md"
DOCS = sorted((CHECKOUT / "docs").glob("*.md"))
PAGES = [README, *DOCS, CHECKOUT / "CHANGELOG.md", *sorted((CHECKOUT / ".github").glob("*.md"))]

CONDITIONS = json.loads((CHECKOUT / "spark_ext" / "conditions.json").read_text())
SQL_STATES = {condition: listed["sqlState"] for condition, listed in CONDITIONS.items()}
OURS = "USAGE_TRACKING_"


def id_of(page: Path) -> str:
    return page.relative_to(CHECKOUT).as_posix()


def links(page: Path) -> list[tuple[Path, str]]:
    """Returns the files of this checkout that a page links, each with the linked heading or ""."""
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    relative = [target.partition("#") for target in targets if "://" not in target]
    return [((page.parent / file).resolve() if file else page, part) for file, _, part in relative]


def anchors(page: Path) -> set[str]:
    """Returns the headings of a page as links name them."""
    headings = re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def without_code(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


EVERY_BLOCK = [block for page in RUN_PAGES for block in blocks(page)]


def commands() -> list[tuple[str, str]]:
    """Returns our command lines that the pages show, in blocks and in sentences."""
    names = "|".join(command.name for command in COMMANDS)
    # A sentence may have "spark-ext" at the start of a line.
    ours = rf"make|python -m spark_ext|(?<=`)spark-ext|spark-ext(?= (?:{names})\b)"
    found = re.compile(rf"(?:^|`|\$\()((?:{ours}) [a-z][^`)\n#]*)", re.MULTILINE)
    return [(id_of(page), command) for page in PAGES for command in found.findall(page.read_text())]


def rows(page: Path) -> list[list[str]]:
    """Returns the cells of every row of every table."""
    lines = page.read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]


def error_rows() -> list[list[str]]:
    """Returns the rows of the tables of conditions: condition, cause and state, remedy."""
    tables = ERRORS.read_text().split("\n| condition |")[1:]
    lines = [line for table in tables for line in table.split("\n\n")[0].splitlines()[2:]]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_every_link_has_a_target(page: Path) -> None:
    found = [(file, part) for file, part in links(page) if file.exists()]

    assert found == links(page)
    assert [part for file, part in found if part and part not in anchors(file)] == []


@pytest.mark.parametrize("page", DOCS, ids=id_of)
def test_readme_links_every_page(page: Path) -> None:
    assert page in {file for file, _ in links(README)}


def test_pages_can_be_read_to_the_end() -> None:
    words = {id_of(page): len(page.read_text().split()) for page in (README, *DOCS)}

    assert words["README.md"] <= 900
    assert len(words) <= 22
    assert sum(words.values()) <= 22_000


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_pages_name_existing_methods(page: Path) -> None:
    named = set(re.findall(r"\bUsageTracking\.(\w+)", page.read_text()))

    assert sorted(named - set(dir(spark_ext.UsageTracking))) == []


def test_errors_page_lists_every_condition_once_with_sqlstate_cause_and_remedy() -> None:
    listed = [entry for row in error_rows() for entry in re.findall(r"`(\S+)` `(\S+?)`", row[0])]

    assert len(listed) == len(dict(listed))
    # Delta's and Spark's own conditions are listed too.
    assert {name: dict(listed).get(name) for name in SQL_STATES} == SQL_STATES
    for condition, cause, remedy in error_rows():
        assert re.fullmatch(r"(`[A-Z_]+(\.[A-Z_]+)?` `[0-9A-Z]{5}`(, |$))+", condition)
        assert cause
        assert remedy


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_pages_name_existing_conditions(page: Path) -> None:
    named = set(re.findall(rf"`({OURS}\w+)`", page.read_text()))

    assert sorted(named - SQL_STATES.keys()) == []


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_pages_name_existing_settings(page: Path) -> None:
    assert sorted(set(SETTING.findall(page.read_text())) - DECLARED.keys()) == []


def test_install_page_contains_the_settings_of_the_defaults_file() -> None:
    file = (CHECKOUT / "conf" / "spark-defaults.conf").read_text()
    defaults = dict(re.findall(r"^(spark\S+)\s+(\S+)$", file, re.MULTILINE))
    table = {row[0]: row[1] for row in rows(CHECKOUT / "docs" / "install.md")}

    listed = {key: table.get(f"`{key}`", "").strip("`") for key in defaults}
    # The path of the jar differs between machines.
    assert listed == {**defaults, "spark.jars": listed["spark.jars"]}
    assert listed["spark.jars"] != ""


def test_every_block_runs_or_has_a_reason_or_contains_only_commands() -> None:
    # `test_commands_of_pages_exist` tests these.
    ours = ("make ", "python -m spark_ext ", "spark-ext ")
    others = [block for block in EVERY_BLOCK if not is_run(block) and not reason(block)]
    hidden = [
        id_of(page) for page in PAGES if re.search(r"^ {4}|^\s+```", without_code(page), re.M)
    ]

    lines = [(block.place, line) for block in others for line in block.text.splitlines()]
    assert [place for place, line in lines if not line.startswith(ours)] == []
    assert hidden == []
    assert [block.place for block in EVERY_BLOCK if block.language == OUTPUT] == []


def test_blocks_that_run_elsewhere_or_never_exist() -> None:
    assert set(ELSEWHERE) <= {(block.page, block.section) for block in EVERY_BLOCK}
    for (_, section), file in ELSEWHERE.items():
        assert f'"{section}"' in (CHECKOUT / file).read_text()
    for page, start in NOT_RUN:
        (block,) = (b for b in EVERY_BLOCK if b.page == page and b.text.startswith(start))
        assert shown(block) is None


def options_of(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


@pytest.mark.parametrize(("page", "command"), commands())
def test_commands_of_pages_exist(
    page: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *arguments = command.replace("python -m spark_ext", "spark-ext").split()
    if program == "spark-ext":
        with pytest.raises(SystemExit) as ended:
            command_line.main([*arguments, "--help"])
        assert ended.value.code == 0
        # With --help, argparse ignores options that do not exist.
        assert options_of(command) <= options_of(capsys.readouterr().out)
        return
    makefile = (CHECKOUT / "Makefile").read_text()
    for argument in re.sub(r"'[^']*'", "", " ".join(arguments)).split():
        name, is_variable, _ = argument.partition("=")
        declared = rf"^{name} \?=" if is_variable else rf"^\.PHONY: {name}$"
        assert re.search(declared, makefile, re.MULTILINE), command


def test_page_of_many_tables_lists_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line.main(["remove", "--help"])

    options = options_of(capsys.readouterr().out) - {"--help"}
    listed = "".join(row[0] for row in rows(CHECKOUT / "docs" / "lakehouse.md"))
    assert options_of(listed) == options


def test_engines_page_names_the_tested_versions() -> None:
    heading = " ".join(rows(CHECKOUT / "docs" / "for-engines.md")[0])
    pins = (CHECKOUT / "pyproject.toml").read_text()

    named = dict(re.findall(r"(deltalake|polars|chdb|Kernel Java) ([\d.]+)", heading))
    named["delta-spark"] = named.pop("Kernel Java")
    assert len(named) == 4
    assert [name for name in named if f'"{name}=={named[name]}' not in pins] == []
