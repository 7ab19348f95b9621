# SPDX-License-Identifier: Apache-2.0
"""Makes the virtual environment of a pair: Spark, Delta, and the imports of the tests, by hashes.

`.ci/pairs.txt` contains the hashes of Spark and Delta; `.ci/sdists.txt` and `.ci/requirements.txt`,
the locks of `make venv`, contain all others. A pair that is not in `releases.json` is installed by
its versions.

Usage, to print the requirements that `make lock` locks:
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

from tests.matrix.releases import RELEASES

CHECKOUT = Path(__file__).parents[2]
HOME = CHECKOUT / ".matrix"
LOCKS = CHECKOUT / ".ci"
# Matches a requirement with its hashes, as `make lock` writes them.
_LOCKED = re.compile(r"^(([a-z0-9][a-z0-9.-]*)==[^ ]+).*\\\n(?:    --hash=.*\n)+", re.MULTILINE)


def pins() -> list[str]:
    """Returns the requirements for every release of Spark and Delta in `releases.json`."""
    sparks = [f"pyspark=={spark}" for line in RELEASES["sparks"].values() for spark in line]
    return [*sparks, *(f"delta-spark=={delta}" for delta in RELEASES["deltas"])]


def requirements(spark: str, delta: str) -> str:
    """Returns the locked requirements of the tests of a pair, as a file for `pip install`."""
    wanted = {f"pyspark=={spark}", f"delta-spark=={delta}"}
    pair = [text for pin, _, text in locked("pairs.txt") if pin in wanted]
    # The packages that build the editable install of the checkout.
    needed = required_here("spark-ext", "test") | {"editables", "hatchling"}
    needed |= required_here("hatchling")
    needed -= {"spark-ext", "pyspark", "delta-spark"}
    return "".join(
        [*pair, *(text for _, name, text in locked("requirements.txt") if name in needed)]
    )


def locked(file: str) -> list[tuple[str, str, str]]:
    """Returns the requirement, name and whole text of each entry of a lock."""
    found = _LOCKED.finditer((LOCKS / file).read_text())
    return [(entry[1], entry[2], entry[0]) for entry in found]


def required_here(package: str, *extras: str) -> set[str]:
    """Returns the names of the packages that an installed package requires, at any depth."""
    found: set[str] = set()
    pending = [(package, of) for of in ("", *extras)]
    seen = set(pending)
    while pending:
        name, of = pending.pop()
        for requirement in map(Requirement, requires(name) or []):
            if requirement.marker and not requirement.marker.evaluate({"extra": of}):
                continue
            found.add(canonicalize_name(requirement.name))
            for further in ("", *requirement.extras):
                if (requirement.name, further) not in seen:
                    seen.add((requirement.name, further))
                    pending.append((requirement.name, further))
    return found


def make_environment(home: Path, spark: str, delta: str) -> None:
    """Installs a pair and the imports of the tests, unless a whole environment exists.

    The environment is made again if Python, the locks or the requirements of the checkout changed.
    The metadata of the editable install contains the requirements of the checkout.
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
    # delta-spark requires Spark 4.2.0 at most, although clusters run Delta with Spark 4.2.1.
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
    """Installs by pip, with the options of `make venv`."""
    pip: Iterable[str | Path] = (python, "-m", "pip", "--quiet", "--disable-pip-version-check")
    options = ("--no-compile", "--no-build-isolation", "--use-pep517")
    subprocess.run([*pip, "install", *options, *arguments], check=True)


if __name__ == "__main__":
    print("\n".join(pins()))
