# SPDX-License-Identifier: Apache-2.0
"""`python -E spark-ext.jar`: the rule process, started from the jar that carries its modules.

Any Python may be told to run this file, so that it says itself which are too old: it has no syntax
and no import that some Python lacks. Of the jar's own modules, py4j's among them, the first places
on `sys.path` are theirs; `-E` keeps PYTHONPATH from shadowing the standard library, and a script's
directory takes the place of the working directory.
"""

import os
import sys


def main():
    if sys.version_info < (3, 10):
        found = ".".join([str(part) for part in sys.version_info[:3]])
        sys.exit(
            "The rule process needs Python 3.10 or later; " + sys.executable + " is Python " + found
        )
    # The jar's own, whatever the interpreter has: one that is missing, old or broken is nobody's.
    sys.path.insert(0, os.path.join(sys.path[0], "META-INF", "python"))
    from spark_ext.process.__main__ import main as serve_rules

    serve_rules()


main()
