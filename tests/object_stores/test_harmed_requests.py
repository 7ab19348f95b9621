# SPDX-License-Identifier: Apache-2.0
"""A table on S3 leaves column mapping while requests come to harm."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.object_stores.requests import Harm, Kind, Request
from tests.object_stores.store import Store
from tests.object_stores.tables import RenamedTable, incompressible

SIZES = {"small": "VALUES (1, 'x') AS t(a, b)", "large": incompressible(6)}
FAILURES = (Py4JJavaError, PySparkException)
# Where the data file is never written.
FATAL = {Harm.ERROR_500, Harm.ERROR_403, Harm.ERROR_503, Harm.CUT}


@pytest.fixture
def table(spark: SparkSession, store: Store) -> RenamedTable:
    return RenamedTable(spark, store)


def writes(request: Request) -> bool:
    """Whether an object is there after a request, that was not before."""
    return request.kind in (Kind.PUT, Kind.COMPLETE_UPLOAD)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("harm", [harm for harm in Harm if harm is not Harm.ERROR_403])
def test_one_harmed_request_is_made_good(table: RenamedTable, harm: Harm, size: str) -> None:
    store = table.store
    store.proxy.slow = 1
    table.create(SIZES[size])
    rows = store.rows("t")
    fault = store.proxy.harm(harm, key="*.parquet", also=writes)

    table.leave()

    assert fault.harmed == 1
    assert store.rows("t") == rows
    assert store.pending_uploads() == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("harm", list(Harm))
def test_harm_for_ever_leaves_a_table_that_is_right(
    table: RenamedTable, harm: Harm, size: str
) -> None:
    store = table.store
    store.proxy.slow = 1
    table.create(SIZES[size])
    rows, files = store.rows("t"), table.data_files()
    log = sorted(store.objects("t/_delta_log/"))
    store.proxy.harm(harm, key="*.parquet", also=writes, times=None)

    try:
        table.leave()
        failed = False
    except FAILURES:
        failed = True

    assert store.rows("t") == rows
    assert store.pending_uploads() == []
    assert failed >= (harm in FATAL)
    if failed:
        assert sorted(store.objects("t/_delta_log/")) == log
        assert table.data_files() == files
