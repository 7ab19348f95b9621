# SPDX-License-Identifier: Apache-2.0
"""Compares the pages for users with the code: links, commands, conditions, settings, examples."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import spark_ext
from spark_ext import __main__ as command_line
from spark_ext.cli.commands import COMMANDS
from tests.support.pages import ELSEWHERE, NOT_RUN, OUTPUT, Block, blocks, is_run, reason, shown
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
    headings = re.findall(r"^#+ (.+)$", outside_of_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def outside_of_code(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def python_examples() -> list[object]:
    fence = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [
        pytest.param(example, id=f"{id_of(page)}-{number}")
        for page in PAGES
        for number, example in enumerate(fence.findall(page.read_text()))
    ]


def every_block() -> list[Block]:
    return [block for page in RUN_PAGES for block in blocks(page)]


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


def listed_conditions() -> list[tuple[str, str]]:
    """Returns the conditions of the errors page, with their SQLSTATEs."""
    return [entry for row in error_rows() for entry in re.findall(r"`(\S+)` `(\S+?)`", row[0])]


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


def test_readme_is_short() -> None:
    lines = README.read_text().splitlines()

    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 120 and line[0] != "|"] == []


@pytest.mark.parametrize("example", python_examples())
def test_examples_compile_and_use_public_names(example: str) -> None:
    tree = ast.parse(example)

    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "spark_ext"
    }
    assert used <= set(spark_ext.__all__)


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_pages_name_existing_methods(page: Path) -> None:
    named = set(re.findall(r"\bUsageTracking\.(\w+)", page.read_text()))

    assert sorted(named - set(dir(spark_ext.UsageTracking))) == []


def test_errors_page_lists_every_condition_once() -> None:
    listed = [condition for condition, _ in listed_conditions()]

    assert sorted(SQL_STATES.keys() - set(listed)) == []
    assert len(listed) == len(set(listed))


def test_listed_condition_has_its_sqlstate() -> None:
    ours = {name: state for name, state in listed_conditions() if name in SQL_STATES}

    assert ours == {name: SQL_STATES[name] for name in ours}
    assert all(re.fullmatch(r"[0-9A-Z]{5}", state) for _, state in listed_conditions())


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


@pytest.mark.parametrize("row", error_rows(), ids=lambda row: row[0].split("`")[1])
def test_listed_condition_has_sqlstate_cause_and_remedy(row: list[str]) -> None:
    condition, cause, remedy = row

    assert re.fullmatch(r"(`[A-Z_]+(\.[A-Z_]+)?` `[0-9A-Z]{5}`(, |$))+", condition)
    assert cause
    assert remedy


def test_every_block_runs_or_has_a_reason_or_contains_only_commands() -> None:
    others = [block for block in every_block() if not is_run(block) and not reason(block)]

    assert [block.place for block in others if not is_of_commands(block)] == []


def is_of_commands(block: Block) -> bool:
    """Returns whether each line is one of our commands (`test_commands_of_pages_exist`)."""
    ours = ("make ", "python -m spark_ext ", "spark-ext ")
    return all(line.startswith(ours) for line in block.text.splitlines())


def test_blocks_are_all_found() -> None:
    text = {id_of(page): outside_of_code(page) for page in PAGES}

    assert [page for page, prose in text.items() if re.search(r"^ {4}|^\s+```", prose, re.M)] == []
    assert [block.place for block in every_block() if block.language == OUTPUT] == []


def test_blocks_that_run_elsewhere_exist() -> None:
    sections = {(block.page, block.section) for block in every_block()}

    assert set(ELSEWHERE) <= sections
    for (_, section), file in ELSEWHERE.items():
        assert f'"{section}"' in (CHECKOUT / file).read_text()


def test_blocks_that_never_run_exist_and_show_no_output() -> None:
    outputs: dict[tuple[str, str], list[str | None]] = {key: [] for key in NOT_RUN}
    for block in every_block():
        for page, start in NOT_RUN:
            if block.page == page and block.text.startswith(start):
                outputs[page, start].append(shown(block))

    assert outputs == {key: [None] for key in NOT_RUN}


@pytest.mark.parametrize(("page", "command"), commands())
def test_commands_of_pages_exist(page: str, command: str) -> None:
    program, *arguments = command.replace("python -m spark_ext", "spark-ext").split()
    if program == "spark-ext":
        with pytest.raises(SystemExit) as ended:
            command_line.main([*arguments, "--help"])
        assert ended.value.code == 0
        return
    makefile = (CHECKOUT / "Makefile").read_text()
    for argument in re.sub(r"'[^']*'", "", " ".join(arguments)).split():
        name, is_variable, _ = argument.partition("=")
        declared = rf"^{name} \?=" if is_variable else rf"^\.PHONY: {name}$"
        assert re.search(declared, makefile, re.MULTILINE), command


def test_engines_page_names_the_tested_versions() -> None:
    heading = " ".join(rows(CHECKOUT / "docs" / "for-engines.md")[0])
    pins = (CHECKOUT / "pyproject.toml").read_text()

    named = dict(re.findall(r"(deltalake|polars|chdb|Kernel Java) ([\d.]+)", heading))
    named["delta-spark"] = named.pop("Kernel Java")
    assert len(named) == 4
    assert [name for name in named if f'"{name}=={named[name]}' not in pins] == []


@pytest.mark.parametrize("picture", sorted((CHECKOUT / "docs").glob("*.svg")), ids=id_of)
def test_pictures_name_existing_files(picture: Path) -> None:
    sources = [CHECKOUT / "jars" / "src" / "main" / "java", CHECKOUT]
    named = re.findall(r">((?:sparkext\.|spark_ext/)[\w./]+)", picture.read_text())
    paths = [name if "/" in name else name.replace(".", "/") for name in named]

    there = [
        path
        for path in paths
        if any((root / end).exists() for root in sources for end in (path, f"{path}.java"))
    ]
    assert there == paths != []
