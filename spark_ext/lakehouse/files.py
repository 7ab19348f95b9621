# SPDX-License-Identifier: Apache-2.0
"""Writes files of reports and certificates, whose names decide the form."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Final, TextIO

from spark_ext.errors import InvalidFileNameError

# The ends of the names of files.
REPORT_FORMS: Final = (".html", ".json")
CERTIFICATE_FORMS: Final = (".json",)

_STYLE = "body{font-family:sans-serif}td,th{text-align:left;padding:0 1em 0 0}"


def require_form(path: Path, forms: Sequence[str]) -> str:
    """Returns the end of a file's name in lower case, which is one of the forms.

    Raises:
        InvalidFileNameError: USAGE_TRACKING_INVALID_FILE_NAME, if the name has another end.
    """
    form = path.suffix.lower()
    if form not in forms:
        raise InvalidFileNameError(file=path, forms=", ".join(forms))
    return form


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Yields a new file, which replaces the file at the path after the body.

    A reader of the path never sees an incomplete text. If the body fails, the path is unchanged.
    Several writers may write one path at once: the last one remains.

    Raises:
        OSError: The file cannot be written.
    """
    part = _part(path)
    try:
        with part.open("x", encoding="utf-8", newline="") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def require_writable(path: Path) -> None:
    """Tries to write a file beside the path.

    Raises:
        OSError: The folder cannot be written, or the path is a folder.
    """
    part = _part(path)
    part.touch(exist_ok=False)
    part.unlink()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))


def page(title: str, body: str) -> str:
    """Returns a page of HTML."""
    return (
        f'<!doctype html>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n{body}\n"
    )


def _part(path: Path) -> Path:
    return path.with_name(f".{uuid.uuid4()}.part")
