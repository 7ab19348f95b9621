# SPDX-License-Identifier: Apache-2.0
"""`configure` where a context runs already, which here is a stand-in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

import spark_ext
from spark_ext.api import session
from spark_ext.api.session import DELTA_EXTENSION, EXTENSIONS, USAGE_TRACKING_EXTENSION
from spark_ext.errors import SessionAlreadyRunningError


@pytest.fixture(autouse=True)
def _no_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    options = dict.fromkeys([session.PACKAGES, session.JARS, session.CATALOG], "x")
    whole = options | {EXTENSIONS: DELTA_EXTENSION, session.DRIVER_PYTHON: "python"}
    monkeypatch.setattr(session, "submit_options", lambda: whole)


def running_with(monkeypatch: pytest.MonkeyPatch, extensions: str) -> None:
    context = SimpleNamespace(getConf=lambda: {EXTENSIONS: extensions})
    monkeypatch.setattr(session, "SparkContext", SimpleNamespace(_active_spark_context=context))


@pytest.mark.parametrize("extensions", ["", DELTA_EXTENSION, f"{USAGE_TRACKING_EXTENSION}2"])
def test_a_context_without_the_extension_is_refused(
    monkeypatch: pytest.MonkeyPatch, extensions: str
) -> None:
    running_with(monkeypatch, extensions)

    with pytest.raises(SessionAlreadyRunningError) as refused:
        spark_ext.configure(SparkSession.Builder())

    assert refused.value.params == {"extensions": extensions}


@pytest.mark.parametrize("between", [",", ", ", " ,\n"])
def test_a_context_with_the_extension_is_accepted(
    monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    running_with(monkeypatch, between.join([DELTA_EXTENSION, USAGE_TRACKING_EXTENSION, ""]))

    spark_ext.configure(SparkSession.Builder())
