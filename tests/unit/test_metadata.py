# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from spark_ext.model.metadata import TableMetadata


class TestTableMetadata:
    def test_metadata_is_immutable(self) -> None:
        metadata = TableMetadata().with_property("k", "v")

        with pytest.raises(FrozenInstanceError):
            metadata.configuration = {}  # type: ignore[misc]
        with pytest.raises(TypeError):
            metadata.configuration["k"] = "w"  # type: ignore[index]

    def test_update_returns_a_new_value(self) -> None:
        metadata = TableMetadata()

        assert metadata.with_property("k", "v").configuration == {"k": "v"}
        assert metadata == TableMetadata()

    def test_update_without_change_returns_the_same_object(self) -> None:
        metadata = TableMetadata().with_property("k", "v")

        assert metadata.with_property("k", "v") is metadata
        assert metadata.with_schema(metadata.schema) is metadata
