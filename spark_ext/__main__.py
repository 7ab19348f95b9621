# SPDX-License-Identifier: Apache-2.0
"""The command line: `python -m spark_ext`, which the wheel installs as `spark-ext`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from spark_ext.cli.commands import COMMANDS, PROGRAM, examples
from spark_ext.version import __version__

INTERRUPTED = 128 + signal.SIGINT


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    _open_missing_streams()
    is_module = Path(sys.argv[0]).name == "__main__.py"
    parser = argparse.ArgumentParser(
        prog="python -m spark_ext" if is_module else PROGRAM,
        description="Keeps column names readable in the Parquet files of Delta tables, and removes"
        " column mapping without rewriting rows.",
        epilog=examples(("survey sales", "<command> --help")),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = parser.add_subparsers(required=True, metavar="<command>", dest="command")
    for command in COMMANDS:
        command.add_to(commands)
    chosen = parser.parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _open_missing_streams() -> None:
    """Replaces standard output and standard error if the shell has closed them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", errors="replace"))


if __name__ == "__main__":
    sys.exit(main())
