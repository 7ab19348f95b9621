# SPDX-License-Identifier: Apache-2.0
"""`python -E spark-ext.jar`: starts the rule process from the jar, which contains its modules.

A user may configure any Python, so this file has no syntax and no import that some Python lacks,
and refuses old versions itself. The jar is first on `sys.path`, so its modules shadow others of the
same name. `-E` ignores PYTHONPATH, and the jar replaces the working directory.
"""

import os
import sys


def main():
    if sys.version_info < (3, 10):
        found = ".".join([str(part) for part in sys.version_info[:3]])
        sys.exit(
            "The rule process needs Python 3.10 or later; " + sys.executable + " is Python " + found
        )
    # The interpreter may lack py4j, or have an old or a broken one.
    sys.path.insert(0, os.path.join(sys.path[0], "META-INF", "python"))
    from spark_ext.process.__main__ import main as serve_rules

    serve_rules()


main()
