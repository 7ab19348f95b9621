# SPDX-License-Identifier: Apache-2.0
"""Tests that table functions on servers show no column of a table that a user may not read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from impala.dbapi import connect
from impala.error import Error

import spark_ext
from spark_ext import UsageTracking
from spark_ext import launch as session
from tests.support.custom_sessions import DELTA, OURS
from tests.support.delta_table import NAME_MODE, TRACKED, refusal
from tests.support.denying import CATALOG, CONDITION, DENIED, EXTENSION, HIDDEN, USER, denying_jar
from tests.support.install_page import block, blocks
from tests.support.releases import VIEWS_TAKE_OUR_FUNCTIONS
from tests.ways_in import shells
from tests.ways_in.connect_server import connect_server, connected, user_environment
from tests.ways_in.place import Place

# Our extension runs before the extension that denies, and after it.
OURS_FIRST, THEIRS_FIRST = [DELTA, OURS, EXTENSION], [EXTENSION, OURS, DELTA]
STAGES = ["check", "optimizer", "catalog"]
CREATE = (
    f"CREATE TABLE {{}} (id INT, {HIDDEN} INT) USING delta TBLPROPERTIES ({TRACKED}, {NAME_MODE})"
)

VIEW = "CREATE VIEW asked AS SELECT * FROM column_mapping('secret')"


def statements(warehouse: Path) -> list[str]:
    calls = [
        f'SELECT * FROM {function}("{name}")'
        for function in ("column_mapping", "column_mapping_audit", "column_mapping_dropped")
        for name in ("secret", f"delta.`{warehouse}/secret`")
    ]
    return [*calls, "SELECT * FROM asked"] if VIEWS_TAKE_OUR_FUNCTIONS else calls


def guarded(command: str, extensions: list[str], jar: Path) -> str:
    """Returns the command with an extension and a catalog of the operator, which are in a jar."""
    ours = "$(python -m spark_ext submit-args)"
    assert ours in command
    settings = {
        "spark.sql.extensions": ",".join(extensions),
        "spark.sql.catalog.spark_catalog": CATALOG,
    }
    more = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    return command.replace(ours, f"{ours} --jars {session.jar()},{jar} {more}")


@pytest.mark.parametrize(
    "extensions",
    [
        pytest.param(OURS_FIRST, id="ours first"),
        pytest.param(THEIRS_FIRST, id="theirs first", marks=pytest.mark.matrix),
    ],
)
def test_connect_client_reads_no_denied_table(
    tmp_path: Path, delta_jars: list[Path], extensions: list[str]
) -> None:
    jar = denying_jar(tmp_path, [str(path) for path in delta_jars])
    command = guarded(blocks("Spark Connect", "bash")[0], extensions, jar)
    home = tmp_path / "server"
    home.mkdir()
    with connect_server(command, home, user_environment()) as address:
        bob, eve = connected(address), connected(address)
        for table in ("secret", "open"):
            bob.sql(CREATE.format(table))
        if VIEWS_TAKE_OUR_FUNCTIONS:
            bob.sql(VIEW)
        eve.conf.set(USER, "eve")
        for stage in STAGES:
            eve.conf.set(DENIED, stage)
            calls: list[Callable[[], object]] = [
                *(
                    lambda text=text: eve.sql(text).collect()
                    for text in statements(home / "warehouse")
                ),
                lambda: UsageTracking.forName(eve, "secret"),
                lambda: UsageTracking.forPath(eve, home / "warehouse" / "secret"),
            ]
            for ask in calls:
                with refusal(CONDITION) as refused:
                    ask()
                assert HIDDEN not in str(refused.value)
            found = spark_ext.survey(eve, progress=None).tables
            assert [(row.table, row.error) for row in found] == [
                ("spark_catalog.default.open", None),
                ("spark_catalog.default.secret", CONDITION),
            ]
            assert UsageTracking.forName(eve, "open").columns().count() == 2
        assert UsageTracking.forName(bob, "secret").columns().count() == 2
        eve.stop()
        bob.stop()


@pytest.mark.matrix
def test_thrift_client_reads_no_denied_table(
    place: Place, port: str, delta_jars: list[Path]
) -> None:
    jar = denying_jar(place.directory, [str(path) for path in delta_jars])
    command = guarded(
        block("Thrift server", "sh", "Server2 \\\n    $(", port=port), OURS_FIRST, jar
    )
    warehouse = place.directory / "spark-warehouse"
    with shells.server(command, place.directory, up="HiveThriftServer2 started", **place.variables):
        server: Any = connect("localhost", int(port), auth_mechanism="PLAIN", user="me")
        with server, server.cursor() as cursor:
            for table in ("secret", "open"):
                cursor.execute(CREATE.format(table))
            if VIEWS_TAKE_OUR_FUNCTIONS:
                cursor.execute(VIEW)
            cursor.execute(f"SET {USER} = eve")
            for stage in STAGES:
                cursor.execute(f"SET {DENIED} = {stage}")
                for text in statements(warehouse):
                    with pytest.raises(Error, match=CONDITION) as refused:
                        cursor.execute(text)
                    assert HIDDEN not in str(refused.value)
                cursor.execute("SELECT table, error FROM column_mapping_survey('default')")
                assert sorted(cursor.fetchall()) == [
                    ("spark_catalog.default.open", None),
                    ("spark_catalog.default.secret", CONDITION),
                ]
                cursor.execute("SELECT path FROM column_mapping('open')")
                assert cursor.fetchall() == [("id",), (HIDDEN,)]
