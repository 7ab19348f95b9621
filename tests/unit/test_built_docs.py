# SPDX-License-Identifier: Apache-2.0
"""Builds the docs as `make docs`, without a warning, to be read without a network."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import spark_ext
from tests.unit.test_browser import BROWSER, dumped

pytestmark = pytest.mark.second_tier  # the build takes half a minute

CHECKOUT = Path(__file__).parents[2]
SPARK = ("delta", "py4j", "pyspark")
# Maps a tag to the attribute whose address a browser fetches without a click.
FETCHED = {"link": "href", "script": "src", "img": "src", "source": "srcset", "iframe": "src"}
# Pages with tables and pictures that are too wide for a phone without the files of `docs/_static`.
SHOWN = (
    "README",
    "docs/install",
    "docs/settings",
    "docs/approve",
    "docs/readable-names",
    "docs/concurrent-writers",
    "docs/for-engines",
    "docs/benchmarks",
)
FRAME = '<iframe src="html/{}.html" style="width:400px;height:900px"></iframe>'
PHONE = """<!doctype html>{frames}<script>
addEventListener("load", () => {{
  const edges = {{}};
  for (const frame of document.querySelectorAll("iframe")) {{
    const shown = "article table, img[src*='parquet-schema'], img[src*='which']";
    frame.contentDocument.querySelectorAll(shown).forEach((each, at) => {{
      edges[`${{frame.src}} ${{each.tagName}} ${{at}}`] = each.getBoundingClientRect().right;
    }});
  }}
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = JSON.stringify(edges);
  document.body.append(found);
}});
</script>"""
# Hosts that Sphinx's scripts name in comments and in XML namespaces.
HARMLESS = {"www.w3.org", "developer.mozilla.org", "snowballstem.org"}


class Page(HTMLParser):
    """Reads the addresses that a browser fetches for a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get(FETCHED.get(tag, ""))
        self.fetched += [address] if address else []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (command,) = re.findall(r"-m (sphinx .*)", (CHECKOUT / "Makefile").read_text())
    folder = tmp_path_factory.mktemp("docs")
    arguments = command.replace("docs/_build", str(folder)).split()
    for package in SPARK:  # `make docs` installs none of these
        (folder / "absent" / package).mkdir(parents=True)
        (folder / "absent" / package / "__init__.py").write_text("raise ImportError(__name__)")

    finished = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(folder / "absent")},
        capture_output=True,
        text=True,
    )

    assert (finished.returncode, finished.stderr) == (0, "")
    return folder / "html"


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in built.rglob("*.html")}


def test_every_page_is_built(built: Path, pages: dict[Path, Page]) -> None:
    sources = ["README", "CHANGELOG", ".github/CONTRIBUTING", "docs/reference", "index", "search"]
    sources += [f"docs/{path.stem}" for path in (CHECKOUT / "docs").glob("*.md")]

    assert [name for name in sources if built / f"{name}.html" not in pages] == []


def test_pages_fetch_nothing_from_a_network(built: Path, pages: dict[Path, Page]) -> None:
    fetched = [address for page in pages.values() for address in page.fetched]
    styles = "".join(sheet.read_text() for sheet in built.rglob("*.css"))
    fetched += re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", styles)
    scripts = "".join(script.read_text() for script in built.rglob("*.js"))

    assert len(fetched) > len(pages)
    assert [found for found in fetched if re.match(r"(?!data:)\w+:|//", found)] == []
    assert set(re.findall(r"\bhttps?://([\w.]+)", scripts)) <= HARMLESS


def test_search_finds_every_page_without_a_server(built: Path, pages: dict[Path, Page]) -> None:
    (index,) = re.findall(r"Search\.setIndex\((.*)\)", (built / "searchindex.js").read_text())
    searched = json.loads(index)

    names = {path.relative_to(built).with_suffix("").as_posix() for path in pages}
    assert set(searched["docnames"]) == names - {"index", "search", "genindex"}
    assert "Readable names for an old table" in searched["alltitles"]
    assert "searchindex.js" in pages[built / "search.html"].fetched
    options = (built / "_static" / "documentation_options.js").read_text()
    assert "SHOW_SEARCH_SUMMARY: false" in options


def test_reference_contains_every_public_name(built: Path) -> None:
    reference = (built / "docs" / "reference.html").read_text()

    names = [name for name in spark_ext.__all__ if name != "__version__"]
    assert [name for name in names if f'id="spark_ext.{name}"' not in reference] == []


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome is on PATH")
def test_tables_and_pictures_fit_a_phone(built: Path) -> None:
    page = built.with_name("phone.html")
    page.write_text(PHONE.format(frames="".join(map(FRAME.format, SHOWN))))

    right_edges = dumped(page, "found")

    assert len(right_edges) > 2 * len(SHOWN)
    assert {what: edge for what, edge in right_edges.items() if edge > 400} == {}
