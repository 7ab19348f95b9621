# SPDX-License-Identifier: Apache-2.0
"""Column mapping for Delta Lake that can be switched off again for free.

The public names are loaded at first use: the rule process (`spark_ext.worker`) imports this
package without pyspark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spark_ext.api.session import configure
    from spark_ext.api.table import UsageTracking

__version__ = "0.1.0"
__all__ = ["UsageTracking", "__version__", "configure"]


def __getattr__(name: str) -> object:
    if name == "configure":
        from spark_ext.api.session import configure

        return configure
    if name == "UsageTracking":
        from spark_ext.api.table import UsageTracking

        return UsageTracking
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
