# SPDX-License-Identifier: Apache-2.0
"""Tests `attach` without a JVM, with class loaders that no real session of the tests has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from spark_ext import launch as attach
from spark_ext.errors import SessionNotAttachableError
from spark_ext.launch import USAGE_TRACKING_EXTENSION


class Thrown:
    """Imitates an exception of the JVM."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._target_id = "o1"

    def getClass(self) -> Any:
        return SimpleNamespace(getName=lambda: self.name)


class Loader:
    """Imitates a class loader that accepts no further jar, and may fail to load our extension."""

    def __init__(self, failure: str | None = None) -> None:
        self._failure = failure

    def loadClass(self, name: str) -> Any:
        if self._failure is not None and name == USAGE_TRACKING_EXTENSION:
            raise Py4JJavaError(f"of {name}", Thrown(self._failure))
        return SimpleNamespace(getClassLoader=lambda: self)

    def getParent(self) -> None:
        return None


def session(loader: Loader) -> Any:
    thread = SimpleNamespace(getContextClassLoader=lambda: loader)
    lang = SimpleNamespace(
        Thread=SimpleNamespace(currentThread=lambda: thread),
        Class=SimpleNamespace(
            forName=lambda name: SimpleNamespace(isInstance=lambda loader: False)
        ),
    )
    jvm = SimpleNamespace(java=SimpleNamespace(lang=lang))
    return SimpleNamespace(sparkContext=SimpleNamespace(_jvm=jvm))


@pytest.fixture(autouse=True)
def _jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attach, "jar", lambda: Path("spark-ext.jar"))


def test_class_path_that_accepts_no_jar_is_refused() -> None:
    with pytest.raises(SessionNotAttachableError) as refused:
        attach.add_jar(session(Loader("java.lang.ClassNotFoundException")))

    assert refused.value.params == {"reason": "no jar can be added to the class path of its driver"}


def test_class_that_cannot_be_loaded_is_not_reported_as_missing() -> None:
    name = "java.lang.UnsupportedClassVersionError"

    with pytest.raises(Py4JJavaError) as failed:
        attach.add_jar(session(Loader(name)))

    assert failed.value.java_exception.name == name
