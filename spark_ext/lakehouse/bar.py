# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a call: a line, or in a notebook a bar of tqdm or of ipywidgets."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from threading import local
from typing import Any, Protocol

from spark_ext.lakehouse.progress import LakehouseProgress, line


class Bar(Protocol):
    """A bar of one phase."""

    def show(self, progress: LakehouseProgress, text: str) -> None:
        """Shows the progress, with a text beside it."""


class _Tqdm:
    def __init__(self, progress: LakehouseProgress) -> None:
        # The form for notebooks needs ipywidgets, and warns without them.
        form = "tqdm.notebook" if find_spec("ipywidgets") else "tqdm.std"
        self._bar: Any = import_module(form).tqdm(
            total=progress.tables, desc=progress.phase, unit=" tables"
        )

    def show(self, progress: LakehouseProgress, text: str) -> None:
        self._bar.n = progress.tables_done
        self._bar.set_postfix_str(text)  # refreshes the bar
        if progress.finished:
            self._bar.close()


class _Widgets:
    def __init__(self, progress: LakehouseProgress) -> None:
        widgets: Any = import_module("ipywidgets")
        self._bar = widgets.IntProgress(max=progress.tables, description=progress.phase)
        self._text = widgets.Label()
        import_module("IPython.display").display(widgets.HBox([self._bar, self._text]))

    def show(self, progress: LakehouseProgress, text: str) -> None:
        self._bar.value = progress.tables_done
        self._text.value = text


class _Bars(local):
    """The bar of each thread, because each thread has one call at a time."""

    bar: Bar | None = None
    key: tuple[object, ...] = ()
    tables_done = 0


_BARS = _Bars()


def shown(progress: LakehouseProgress) -> None:
    """Prints the progress as a line to standard error; in a notebook, updates a bar.

    The bar is one of tqdm or ipywidgets. A notebook with neither shows nothing.
    """
    if is_notebook():
        show(progress, line(progress))
    else:
        print(line(progress), file=sys.stderr)


def is_notebook() -> bool:
    """Returns whether a Jupyter kernel runs this process."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def show(progress: LakehouseProgress, text: str) -> None:
    """Updates the bar of the phase, or begins one; does nothing if no package has a bar."""
    key = (progress.phase, progress.tables)
    if key != _BARS.key or progress.tables_done < _BARS.tables_done:
        _BARS.bar, _BARS.key = _begun(progress), key
    _BARS.tables_done = progress.tables_done
    if _BARS.bar is not None:
        _BARS.bar.show(progress, text)
    if progress.finished:
        _BARS.key = ()


def _begun(progress: LakehouseProgress) -> Bar | None:
    if find_spec("tqdm"):
        return _Tqdm(progress)
    return _Widgets(progress) if find_spec("ipywidgets") else None
