# SPDX-License-Identifier: Apache-2.0
"""The pages as HTML: `make docs`.

The source folder is the checkout, so that links are valid in HTML and in the Markdown files.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import mock

CHECKOUT = Path(__file__).parents[1]
sys.path.insert(0, str(CHECKOUT))  # `make docs` does not install the package

import spark_ext  # noqa: E402

# A page that no list contains is an error.
CONTENTS = {
    "Start": ["docs/install", "docs/tracking", "docs/approve"],
    "Do a job": [
        "docs/readable-names",
        "docs/removal",
        "docs/lakehouse",
        "docs/concurrent-writers",
        "docs/erasure",
        "docs/audit",
        "docs/errors",
    ],
    "Look up": [
        "docs/settings",
        "docs/sql",
        "docs/command-line",
        "docs/reference",
        "docs/versions",
        "docs/object-stores",
        "docs/limits",
        "CHANGELOG",
    ],
    "Understand": ["docs/design", "docs/for-engines", "tests/parquet/writers", ".github/SECURITY"],
    "Contribute": [".github/CONTRIBUTING", "docs/benchmarks", "docs/test-matrix"],
}

project = "spark-ext"
version = release = spark_ext.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "README"
include_patterns = ["*.md", ".github/*.md", "docs/*.md", "docs/*.rst", "tests/parquet/*.md"]
exclude_patterns = [".git", ".m*", ".venv", "docs/_build", "jars", "spark_ext"]

myst_heading_anchors = 3  # links to headings work as on GitHub
default_role = "code"
napoleon_custom_sections = ["Shape", "Source", "Units"]
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_mock_imports = ["delta", "py4j", "pyspark"]
with mock(autodoc_mock_imports):
    # spark_ext imports a name's module when the name is read, which may be outside of a mock.
    public = [getattr(spark_ext, name) for name in spark_ext.__all__]

html_theme = "furo"
html_title = f"spark-ext {release}"
html_logo = html_favicon = "pictures/mark.svg"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = [("pages.js", {"defer": "defer"})]
html_extra_path = ["index.html"]
html_copy_source = html_show_copyright = html_domain_indices = False
# A browser cannot fetch the summaries if the pages are opened from disk.
html_show_search_summary = False


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Gives the first page the table of contents, which plain Markdown has no words for."""
    if name == root_doc:
        for caption, pages in CONTENTS.items():
            there = [f"/{page}" for page in pages if list(CHECKOUT.glob(f"{page}.*"))]
            source[0] += "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", ""])
            source[0] += "\n".join(["", *there, "```", ""])


def setup(app: Sphinx) -> None:
    """Connects the handlers; Sphinx calls this function."""
    app.connect("source-read", add_contents)
