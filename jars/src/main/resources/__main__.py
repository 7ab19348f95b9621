# SPDX-License-Identifier: Apache-2.0
"""`python -E spark-ext.jar`: the rule process, started from the jar that carries its modules.

Any Python may be told to run this file, so that it says itself which are too old: it has no syntax
and no import that some Python lacks. Of the jar's own modules the first place on `sys.path` is
theirs; `-E` keeps PYTHONPATH from shadowing the standard library, and a script's directory takes
the place of the working directory.
"""

import os
import sys


def main():
    if sys.version_info < (3, 10):
        found = ".".join([str(part) for part in sys.version_info[:3]])
        sys.exit(
            "The rule process needs Python 3.10 or later; " + sys.executable + " is Python " + found
        )
    # Behind all else, and for py4j alone: where an installation has it in no place of its own.
    sys.path += py4j_of_spark() + python_path()
    try:
        import py4j  # noqa: F401
    except ImportError as missing:
        if missing.name != "py4j":
            raise
        sys.exit(
            "The rule process needs the package py4j, which " + sys.executable + " does not have,"
            " nor do SPARK_HOME/python/lib and PYTHONPATH."
        )
    from spark_ext.worker.__main__ import main as serve_rules

    serve_rules()


def py4j_of_spark():
    spark_home = os.environ.get("SPARK_HOME")
    libraries = os.path.join(spark_home or "", "python", "lib")
    if not spark_home or not os.path.isdir(libraries):
        return []
    files = [os.path.join(libraries, name) for name in sorted(os.listdir(libraries))]
    return [file for file in files if os.path.basename(file).startswith("py4j-")]


def python_path():
    return [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


main()
