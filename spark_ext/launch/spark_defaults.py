# SPDX-License-Identifier: Apache-2.0
"""Reads `spark-defaults.conf` for a command that adds to its values before a JVM starts.

Spark itself reads the file in the JVM. A value that the command sets replaces the value in the
file, so the command must know the value first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

# A key, a separator, and a value. A backslash at the end of a line continues the value.
_ENTRY = re.compile(
    r"^[ \t\f]*([^#!\s=:][^\s=:]*)[ \t\f]*[=:]?[ \t\f]*((?:\\[\s\S]|[^\\\n])*)", re.MULTILINE
)
_BACKSLASH = re.compile(r"\\(?:\n[ \t\f]*|(.))")


def defaults_file(environ: Mapping[str, str]) -> Path | None:
    """Returns the path at which Spark looks for its defaults; None if no Spark is installed."""
    folder = environ.get("SPARK_CONF_DIR")
    if folder:
        return Path(folder) / "spark-defaults.conf"
    home = spark_home(environ)
    return None if home is None else home / "conf" / "spark-defaults.conf"


def spark_home(environ: Mapping[str, str]) -> Path | None:
    """Returns SPARK_HOME, or else the Spark inside the package pyspark; None if neither exists."""
    if environ.get("SPARK_HOME"):
        return Path(environ["SPARK_HOME"])
    import pyspark

    package = Path(pyspark.__file__).parent
    # pyspark/find_spark_home.py searches these folders too. `pyspark-client` contains no jars.
    candidates = (
        *(Path("..").resolve(), package / "spark-distribution", package),
        package.parent.parent,  # of a distribution whose folder `python` is in PYTHONPATH
    )
    return next((path for path in candidates if _is_spark_home(path)), None)


def _is_spark_home(path: Path) -> bool:
    return os.path.isfile(path / "bin" / "spark-submit") and os.path.isdir(path / "jars")


def defaults(file: Path | None) -> dict[str, str]:
    r"""Returns the settings of a defaults file; none if the file does not exist.

    A backslash before another character than the end of a line is removed. Escapes such as `\t` and
    `\u00fc` have no meaning here. Raises OSError if the file cannot be read, so that no session
    starts.

    Source: Spark 4.2, `Utils.getPropertiesFromFile`: UTF-8, and U+FFFD for bytes that are not
    UTF-8; Spark ignores a path that is not a file. Java 17, `java.util.Properties.load(Reader)`.
    """
    # Java does the same: a file in an unreadable folder does not exist.
    if file is None or not os.path.isfile(file):
        return {}
    text = file.read_text(encoding="utf-8", errors="replace")
    return {
        entry[1]: _BACKSLASH.sub(lambda found: found[1] or "", entry[2]).strip()
        for entry in _ENTRY.finditer(text)
    }
