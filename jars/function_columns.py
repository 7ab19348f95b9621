# SPDX-License-Identifier: Apache-2.0
"""Prints the columns of the table functions as JSON; `make jar` puts them into the jar.

Spark needs the columns to analyze a query. The rule process may start later.
"""

from __future__ import annotations

import json

from spark_ext.model.rows import ddl
from spark_ext.process.table_functions import FUNCTIONS

print(json.dumps({name: ddl(function()[0]) for name, function in FUNCTIONS.items()}, indent=2))
