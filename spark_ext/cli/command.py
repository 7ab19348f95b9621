# SPDX-License-Identifier: Apache-2.0
"""A command of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PROGRAM = "spark-ext"


@dataclass(frozen=True)
class Command:
    """A command, its help, and the function that runs it.

    Args:
        name: The name on the command line.
        help: The purpose of the command and its exit codes, for the list of commands.
        examples: Command lines for its help, without the program.
        run: Runs the command with its arguments, and returns the exit code.
        add_arguments: Adds the arguments to the parser of the command.
    """

    name: str
    help: str
    examples: tuple[str, ...]
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None

    def add_to(self, commands: Any) -> None:
        """Adds the command to the commands of a parser."""
        parser: argparse.ArgumentParser = commands.add_parser(
            self.name,
            help=self.help,
            description=f"{self.help[:1].upper()}{self.help[1:]}.",
            epilog=examples(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_arguments(parser)
        parser.set_defaults(run=self.run)


def examples(lines: tuple[str, ...]) -> str:
    """Returns the examples at the end of a help."""
    shown = "\n".join(f"  {PROGRAM} {line}" for line in lines)
    return f"{'example' if len(lines) == 1 else 'examples'}:\n{shown}"
