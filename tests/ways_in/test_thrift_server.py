# SPDX-License-Identifier: Apache-2.0
"""The Thrift JDBC server, through a client in Python and one of JDBC."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import shells
from conftest import Place
from custom_sessions import CATALOG, DELTA
from impala.dbapi import connect
from impala.error import Error
from install_page import block
from tracked import REFUSED, SET_FLAG, assert_tracked, sql_text, statements

SECTION = "Thrift server"
UP = "HiveThriftServer2 started"


@contextmanager
def session(port: str) -> Iterator[Any]:
    with (
        closing(connect("localhost", int(port), auth_mechanism="PLAIN", user="me")) as server,
        closing(server.cursor()) as cursor,
    ):
        yield cursor


def test_a_client_in_python(place: Place, port: str) -> None:
    command = block(SECTION, "sh", "Server2 \\\n    $(", port=port)
    with shells.server(command, place.directory, up=UP, **place.variables):
        with session(port) as cursor:
            for statement in statements():
                cursor.execute(statement)
            with pytest.raises(Error, match=rf"\[{REFUSED}\]"):
                cursor.execute(SET_FLAG.format(t="t"))
        place.write("client.py", block(SECTION, "python", port=port))
        printed = shells.output_of("python client.py", place.directory)

    assert "('d', 'a')" in printed
    assert_tracked(place.log())


@pytest.mark.matrix
def test_a_client_of_jdbc(place: Place, port: str, delta_jars: list[Path]) -> None:
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
def test_a_client_of_jdbc_needs_delta_on_the_drivers_own_class_path(
    place: Place, port: str, extensions: str
) -> None:
    """As the page says; and it is so without us."""
    command = block(SECTION, "sh", "Server2 \\\n    $(", port=port)
    if extensions == "delta":
        command = command.replace(
            "spark-internal", f"--conf spark.sql.extensions={DELTA} spark-internal"
        )
    with shells.server(command, place.directory, up=UP, **place.variables):
        refused = place.run(block(SECTION, "sh", "beeline", port=port))

    assert f"ClassNotFoundException: {CATALOG}" in refused.stderr
