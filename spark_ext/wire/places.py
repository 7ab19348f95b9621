# SPDX-License-Identifier: Apache-2.0
"""The JSON in which the JVM tells what lies in a table's folder."""

from __future__ import annotations

from functools import partial

from spark_ext.log.actions import TableLog
from spark_ext.log.places import TablePlaces
from spark_ext.wire.logs import LOG
from spark_ext.wire.shapes import Shape


def parse_places(text: str) -> TablePlaces:
    """The table that `column_mapping_dropped` is called with.

    Raises:
        MalformedMessageError: USAGE_TRACKING_MALFORMED_MESSAGE, where the text has another shape.
    """
    return PLACES.parse(text)


PLACES = Shape(TablePlaces, parts={TableLog: partial(LOG.read, name="")})
