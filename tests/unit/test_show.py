# SPDX-License-Identifier: Apache-2.0
"""Tests rendered tables: every value, alignment, and escaped control characters."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_ext.show import GOOD, Coloured, Facts, Lines, Table, cell

ODD = "<b>&\"'\n\r\t\x1b[2J\u202e\u2028日"
ROWS = st.lists(st.tuples(st.text(), st.none() | st.integers(), st.booleans()), max_size=4)


class Cells(HTMLParser):
    """Collects the text of every cell, paragraph and item of HTML, and the tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag in ("tr", "p", "ul"):
            self.rows.append([])
        if tag in ("td", "th", "p", "li"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        self.rows[-1][-1] += data


def test_table_without_rows_has_a_head() -> None:
    table = Table(["a", "bc"], [])

    assert table.text() == "a  bc\n-  --"
    assert Cells(table.html()).rows == [["a", "bc"]]


def test_wide_letters_are_aligned() -> None:
    lines = Table(["n", "v"], [("日", "x"), ("e\u0301", "x")]).text().splitlines()

    assert lines[2:] == ["日  x", "e\u0301   x"]


def test_facts_are_aligned() -> None:
    facts = Facts({"a": 1, "bcd": (True, "x"), "e": None})

    assert facts.text() == "a:   1\nbcd: true, x\ne:"
    assert Cells(facts.html()).rows == [["a", "1"], ["bcd", "true, x"], ["e", ""]]
    assert Facts({}).text() == ""


def test_html_aligns_numbers_and_sizes_to_the_right_and_text_to_the_left() -> None:
    html = Table(["n", "bytes", "t"], [(1, "at most 5,000", "x"), (None, 7, "1")]).html()

    aligned = re.findall(r"<td[^>]*text-align:(\w+)[^>]*>(.*?)</td>", html)
    assert aligned == [
        *(("right", "1"), ("right", "at most 5.0 kB"), ("left", "x")),
        *(("right", ""), ("right", "7 B"), ("left", "1")),
    ]
    assert 'title="at most 5,000 bytes"' in html


def test_html_of_facts_has_sizes_in_units() -> None:
    assert Facts({"files": 2000, "bytes": 34_567_890_123}).html().count("34.6 GB") == 1


def test_html_colours_only_states_and_coloured_texts() -> None:
    html = Table(["a", "b"], [("BLOCKED", "BLOCKED, too"), (Coloured("fine", GOOD), None)]).html()

    coloured = re.findall(r"background[^>]*>(.*?)</td>", html)
    assert coloured == ["BLOCKED", "fine"]


def test_html_has_the_caption() -> None:
    assert ">all &lt;b&gt;</caption><thead>" in Table(["a"], [(1,)], "all <b>").html()


@pytest.mark.parametrize("char", ["\n", "\r", "\x1b", "\x9b", "\u202e", "\u2028", "\ud800"])
def test_control_characters_are_escaped(char: str) -> None:
    assert cell(f"a{char}b") == "a" + char.encode("unicode_escape").decode() + "b"


def test_html_escapes_values() -> None:
    for part in (Table([ODD], [(ODD,)]), Facts({ODD: ODD}), Lines(ODD, [ODD])):
        parsed = Cells(part.html())

        assert "b" not in parsed.tags
        assert {text for row in parsed.rows for text in row} == {cell(ODD)}


@given(ROWS)
def test_table_text_has_a_line_with_the_values_of_each_row(rows: list[tuple[object, ...]]) -> None:
    lines = Table(["text", "number", "truth"], rows).text().split("\n")

    assert len(lines) == len(rows) + 2
    for row, line in zip(rows, lines[2:], strict=True):
        assert line == line.rstrip()
        assert all(cell(value).strip() in line for value in row)
    assert all(unicodedata.category(char) not in ("Cc", "Cf") for line in lines for char in line)


@given(ROWS)
def test_table_html_has_every_value(rows: list[tuple[object, ...]]) -> None:
    parsed = Cells(Table(["text", "number", "truth"], rows).html())

    assert parsed.rows[1:] == [[cell(value) for value in row] for row in rows]
