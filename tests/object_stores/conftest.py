# SPDX-License-Identifier: Apache-2.0
"""Provides an S3 server for each test process, and buckets whose small tables `proof` checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql import SparkSession

from tests.object_stores.s3 import S3
from tests.object_stores.servers import s3proxy
from tests.object_stores.store import Store, known, new_store


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with s3proxy(tmp_path_factory.mktemp("s3proxy")) as server:
        yield server


@pytest.fixture
def new_store_on(
    spark: SparkSession, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Store]]:
    """Yields a function that creates buckets for the session, as `store.new_store`."""
    stores: list[Store] = []
    with ExitStack() as stack:

        def make(server: S3, **options: object) -> Store:
            store = stack.enter_context(new_store(server, **options))  # type: ignore[arg-type]
            stack.enter_context(known(spark, store))
            stores.append(store)
            return store

        yield make
        marks = request.node.iter_markers("broken_table")
        expected: set[str] = set().union(*(mark.args for mark in marks))
        folder = tmp_path_factory.mktemp("buckets")
        found = [each for store in stores for each in store.findings(folder / store.bucket)]
        assert {each.check for each in found} - expected == set(), found


@pytest.fixture
def store(server: S3, new_store_on: Callable[..., Store]) -> Store:
    """Returns a bucket with S3A's default settings and shorter timeouts."""
    return new_store_on(server)
