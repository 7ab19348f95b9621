# SPDX-License-Identifier: Apache-2.0
"""The pages for users: what they link, show and list is there, and what is there is listed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import spark_ext
from spark_ext import errors
from spark_ext.errors import SparkExtError

CHECKOUT = Path(__file__).parents[2]
README = CHECKOUT / "README.md"
DOCS = sorted((CHECKOUT / "docs").glob("*.md"))
PAGES = [README, *DOCS, CHECKOUT / "CHANGELOG.md", CHECKOUT / ".github" / "CONTRIBUTING.md"]

SQL_STATES = {
    value.condition: value.sql_state
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, SparkExtError) and value is not SparkExtError
}
OURS = "USAGE_TRACKING_"
# A prefix of settings, as in `spark.sparkext.worker.*`, is no setting.
SETTING = re.compile(r"spark\.sparkext(?:\.\w+)+(?![\w.])")


def id_of(page: Path) -> str:
    return page.relative_to(CHECKOUT).as_posix()


def links(page: Path) -> list[tuple[Path, str]]:
    """The files of this checkout that a page links, each with the heading it names, if any."""
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    relative = [target.partition("#") for target in targets if "://" not in target]
    return [((page.parent / file).resolve() if file else page, part) for file, _, part in relative]


def anchors(page: Path) -> set[str]:
    """The headings of a page, as a link names them."""
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


def rows(page: Path) -> list[list[str]]:
    """The cells of every row of every table."""
    lines = page.read_text().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]


def listed_conditions() -> list[tuple[str, str]]:
    """The conditions of the errors page, with their SQLSTATEs."""
    cells = [row for row in rows(CHECKOUT / "docs" / "errors.md") if row[0][:1] == "`"]
    return [(row[0].strip("`"), row[1]) for row in cells]


def settings_in_the_sources() -> set[str]:
    java = (CHECKOUT / "jars" / "src" / "main" / "java").rglob("*.java")
    python = (CHECKOUT / "spark_ext").rglob("*.py")
    return {name for file in [*java, *python] for name in SETTING.findall(file.read_text())}


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    found = [(file, part) for file, part in links(page) if file.exists()]

    assert found == links(page)
    assert [part for file, part in found if part and part not in anchors(file)] == []


@pytest.mark.parametrize("page", DOCS, ids=id_of)
def test_the_readme_links_every_page(page: Path) -> None:
    assert page in {file for file, _ in links(README)}


def test_the_readme_stays_short() -> None:
    lines = README.read_text().splitlines()

    assert len(lines) <= 100
    assert [line for line in lines if len(line) > 120] == []


@pytest.mark.parametrize("example", python_examples())
def test_an_example_compiles_and_uses_public_names(example: str) -> None:
    tree = ast.parse(example)

    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "spark_ext"
    }
    assert used <= set(spark_ext.__all__)


def test_every_condition_is_listed_once() -> None:
    listed = [condition for condition, _ in listed_conditions()]

    assert sorted(SQL_STATES.keys() - set(listed)) == []
    assert len(listed) == len(set(listed))


def test_a_listed_condition_has_its_sql_state() -> None:
    ours = {name: state for name, state in listed_conditions() if name in SQL_STATES}

    assert ours == {name: SQL_STATES[name] for name in ours}
    assert all(re.fullmatch(r"[0-9A-Z]{5}", state) for _, state in listed_conditions())


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_no_page_names_a_condition_that_is_not_there(page: Path) -> None:
    named = set(re.findall(rf"`({OURS}\w+)`", page.read_text()))

    assert sorted(named - SQL_STATES.keys()) == []


def test_every_setting_is_listed() -> None:
    listed = SETTING.findall((CHECKOUT / "docs" / "settings.md").read_text())

    assert settings_in_the_sources() == set(listed) != set()


@pytest.mark.parametrize("page", PAGES, ids=id_of)
def test_no_page_names_a_setting_that_is_not_there(page: Path) -> None:
    assert sorted(set(SETTING.findall(page.read_text())) - settings_in_the_sources()) == []


def test_the_install_page_has_the_settings_of_the_defaults_file() -> None:
    file = (CHECKOUT / "conf" / "spark-defaults.conf").read_text()
    defaults = dict(re.findall(r"^(spark\S+)\s+(\S+)$", file, re.MULTILINE))
    table = {row[0]: row[1] for row in rows(CHECKOUT / "docs" / "install.md")}

    listed = {key: table.get(f"`{key}`", "").strip("`") for key in defaults}
    # The jar's path is another on every machine.
    assert listed == {**defaults, "spark.jars": listed["spark.jars"]}
    assert listed["spark.jars"] != ""
