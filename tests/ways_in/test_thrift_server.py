# SPDX-License-Identifier: Apache-2.0
"""Tests the Thrift JDBC server by a client in Python and by a JDBC client."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from impala.dbapi import connect
from impala.error import Error

from tests.support.custom_sessions import CATALOG, DELTA
from tests.support.install_page import block
from tests.support.rule_process import PYTHON, TIMEOUT
from tests.support.table_log import TableLog
from tests.ways_in import shells
from tests.ways_in.place import Place
from tests.ways_in.tracked import REFUSED, SET_FLAG, assert_tracked, sql_text, statements

SECTION = "Thrift server"
UP = "HiveThriftServer2 started"


@contextmanager
def session(port: str, configuration: dict[str, str] | None = None) -> Iterator[Any]:
    with (
        closing(connect("localhost", int(port), auth_mechanism="PLAIN", user="me")) as server,
        closing(server.cursor(configuration=configuration)) as cursor,
    ):
        yield cursor


@pytest.mark.matrix
def test_client_in_python_tracks_a_table(place: Place, port: str) -> None:
    command = block(SECTION, "sh", "Server2 \\\n    $(", port=port)
    with shells.server(command, place.directory, up=UP, **place.variables):
        with session(port) as cursor:
            for statement in statements():
                cursor.execute(statement)
            with pytest.raises(Error, match=rf"\[{REFUSED}\]"):
                cursor.execute(SET_FLAG.format(t="t"))
            for key in (PYTHON, TIMEOUT):
                with pytest.raises(Error, match=r"\[CANNOT_MODIFY_STATIC_CONFIG\]"):
                    cursor.execute(f"SET {key} = /bin/false")
        place.write("client.py", block(SECTION, "python", port=port))
        printed = shells.output_of("python client.py", place.directory)

    assert "('d', 'a')" in printed
    assert_tracked(place.log())


@pytest.mark.matrix
def test_client_may_not_configure_the_rule_process(place: Place, port: str) -> None:
    command = block(SECTION, "sh", "Server2 \\\n    $(", port=port)
    answers = {
        f"{prefix}{PYTHON}": str(place.write("python", f"#!/bin/sh\ntouch {place.directory}/ran\n"))
        for prefix in ("", "set:hiveconf:", "set:hivevar:", "set:system:")
    }
    (place.directory / "python").chmod(0o755)
    with shells.server(command, place.directory, up=UP, **place.variables):
        for key, value in answers.items():
            # The server may refuse such a key or ignore it.
            with contextlib.suppress(Error), session(port, {key: value}) as cursor:
                cursor.execute("SELECT 1")
                for statement in statements(table=re.sub(r"\W", "_", key)):
                    cursor.execute(statement)
        with session(port) as cursor:
            for statement in statements():
                cursor.execute(statement)

    assert not (place.directory / "ran").exists()
    for table in (place.directory / "spark-warehouse").iterdir():
        assert_tracked(TableLog(table))


@pytest.mark.matrix
def test_client_of_jdbc_tracks_a_table(place: Place, port: str, delta_jars: list[Path]) -> None:
    folder = str(place.link("delta jars", *delta_jars))
    command = block(SECTION, "sh", "--driver-class-path", port=port, DELTA_JARS=folder)
    ask = block(SECTION, "sh", "beeline", port=port)
    (query,) = re.findall(r'-e "(.+)"', ask)
    with shells.server(command, place.directory, up=UP, **place.variables):
        place.write("track.sql", sql_text())
        tracking = place.run(ask.replace(f'-e "{query}"', "-f track.sql"))
        asking = place.run(ask)
        refused = place.run(ask.replace(query, SET_FLAG.format(t="t")))

    assert tracking.returncode == 0, tracking.stderr
    assert "| d     | a" in asking.stdout, asking.stdout + asking.stderr
    assert f"[{REFUSED}]" in refused.stderr
    assert refused.returncode != 0
    assert_tracked(place.log())


@pytest.mark.matrix
@pytest.mark.parametrize("extensions", ["delta", "ours"])
def test_client_of_jdbc_needs_delta_on_the_drivers_own_class_path(
    place: Place, port: str, extensions: str
) -> None:
    """Plain Delta needs the same, and the page says so."""
    command = block(SECTION, "sh", "Server2 \\\n    $(", port=port)
    if extensions == "delta":
        without_us = f"--conf spark.sql.extensions={DELTA} spark-internal"
        command = command.replace("spark-internal", without_us)
    with shells.server(command, place.directory, up=UP, **place.variables):
        refused = place.run(block(SECTION, "sh", "beeline", port=port))

    assert f"ClassNotFoundException: {CATALOG}" in refused.stderr
