# SPDX-License-Identifier: Apache-2.0
"""The virtual environment of a pair: Spark, Delta, and what the tests import, by their hashes.

Those of Spark and Delta are in `.ci/pairs.txt`, all others in the lock of `make venv`. A pair that
`releases.json` does not have, and the lock neither, is installed by its versions.

Usage, for `make lock`:
    .venv/bin/python -m tests.matrix.environment
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import venv
from collections.abc import Iterable
from importlib.metadata import requires
from pathlib import Path
from platform import python_version

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from spark_ext.launch.releases import RELEASES

CHECKOUT = Path(__file__).parents[2]
LOCKS = CHECKOUT / ".ci"
# A requirement and its hashes, as `make lock` writes them.
_LOCKED = re.compile(r"^(([a-z0-9][a-z0-9.-]*)==[^ ]+).*\\\n(?:    --hash=.*\n)+", re.MULTILINE)


def pins() -> list[str]:
    """The releases that pairs are made of."""
    sparks = [f"pyspark=={spark}" for line in RELEASES["sparks"].values() for spark in line]
    return [*sparks, *(f"delta-spark=={delta}" for delta in RELEASES["deltas"])]


def requirements(spark: str, delta: str) -> str:
    """All that the tests of a pair need and that is locked, as a file for `pip install`."""
    wanted = {f"pyspark=={spark}", f"delta-spark=={delta}"}
    pair = [text for pin, _, text in locked("pairs.txt") if pin in wanted]
    # What the checkout itself is built with, for an editable install.
    needed = required_here("spark-ext", "test") | {"editables", "hatchling"}
    needed |= required_here("hatchling")
    needed -= {"spark-ext", "pyspark", "delta-spark"}
    return "".join(
        [*pair, *(text for _, name, text in locked("requirements.txt") if name in needed)]
    )


def locked(file: str) -> list[tuple[str, str, str]]:
    """Version, name and whole text of what is in a lock."""
    found = _LOCKED.finditer((LOCKS / file).read_text())
    return [(entry[1], entry[2], entry[0]) for entry in found]


def required_here(package: str, *extras: str) -> set[str]:
    """The names of all that an installed package requires, and that those require."""
    found: set[str] = set()
    left = [(package, of) for of in ("", *extras)]
    seen = set(left)
    while left:
        name, of = left.pop()
        for requirement in map(Requirement, requires(name) or []):
            if requirement.marker and not requirement.marker.evaluate({"extra": of}):
                continue
            found.add(canonicalize_name(requirement.name))
            for further in ("", *requirement.extras):
                if (requirement.name, further) not in seen:
                    seen.add((requirement.name, further))
                    left.append((requirement.name, further))
    return found


def make_environment(home: Path, spark: str, delta: str) -> None:
    """Installs a pair and what the tests import; done once, unless it was interrupted.

    It is done anew where what it is made of has changed: Python, the locks, or what the checkout
    requires, which the metadata of its editable install says.
    """
    done = home / ".installed"
    needed = requirements(spark, delta)
    sdists = (LOCKS / "sdists.txt").read_text()
    made_of = "\n".join(
        [f"# Python {python_version()}", *(requires("spark-ext") or []), sdists, needed]
    )
    if done.exists() and done.read_text() == made_of:
        return
    venv.create(home, with_pip=True, clear=True)
    python = home / "bin" / "python"
    install_locked(python, sdists)
    install_locked(python, needed)
    # Delta without what it says of Spark: to 4.2.0 at most, though clusters run it with 4.2.1.
    for pin, options in ((f"pyspark=={spark}", ()), (f"delta-spark=={delta}", ("--no-deps",))):
        if f"{pin} \\" not in needed:
            install(python, *options, pin)
    install(python, "--no-deps", "--editable", CHECKOUT)
    done.write_text(made_of)


def install_locked(python: Path, requirements: str) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(requirements)
        file.flush()
        install(python, "--no-deps", "--require-hashes", "--requirement", file.name)


def install(python: Path, *arguments: str | Path) -> None:
    """By what is installed already, as `make venv` does."""
    pip: Iterable[str | Path] = (python, "-m", "pip", "--quiet", "--disable-pip-version-check")
    options = ("--no-compile", "--no-build-isolation", "--use-pep517")
    subprocess.run([*pip, "install", *options, *arguments], check=True)


if __name__ == "__main__":
    print("\n".join(pins()))
