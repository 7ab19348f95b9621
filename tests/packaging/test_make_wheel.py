# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of README's section Install in a copy of the checkout."""

from __future__ import annotations

import shlex
import shutil
import site
import subprocess
import venv
from pathlib import Path

import pytest

from tests.support.environments import environment_for, run
from tests.support.pages import CHECKOUT, blocks


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Returns a copy as `git clone` makes it, with the files that `make` would fetch."""
    folder = tmp_path / "spark-ext"
    listed = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / name, folder / name)
    if (CHECKOUT / ".maven").is_dir():
        (folder / ".maven").symlink_to(CHECKOUT / ".maven")
    environment = folder / ".venv"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "tests.pth").write_text("\n".join(site.getsitepackages()))
    (environment / ".demo").touch()
    return folder


@pytest.mark.matrix
def test_make_prints_the_wheel_to_install(clone: Path, tmp_path: Path) -> None:
    _, block = (block for block in blocks("README.md") if block.section == "Install")
    fetch, make, install = (shlex.split(line, comments=True) for line in block.text.splitlines())
    assert fetch[:2] == ["git", "clone"]
    # `pip wheel` uses the hatchling of the tests and needs no network.
    printed = run(*make, cwd=clone, PIP_NO_BUILD_ISOLATION="0").splitlines()[-1]
    assert install == ["pip", "install", printed]

    environment = environment_for(clone / printed, tmp_path / "venv")
    path = environment.shell_programs()
    run(*install, cwd=clone, PATH=path, PIP_NO_INDEX="1")

    jar = Path(run(environment.python, "-m", "spark_ext", "jars", cwd=tmp_path).strip())
    assert jar == environment.site_packages / "spark_ext" / "jars" / "spark-ext.jar"
    assert jar.read_bytes() == (clone / "spark_ext" / "jars" / "spark-ext.jar").read_bytes()
