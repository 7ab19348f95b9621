# SPDX-License-Identifier: Apache-2.0
"""Runs the one Maven this project builds with, and fetches it from Maven Central the first time.

The builder needs a JDK and Python, not Maven: PySpark brings Apache Ivy, and Ivy can fetch Maven's
own distribution by its coordinates. The folder `.maven/` of the checkout contains it afterwards. An
installed Maven is never used, so that only one version has to be tested.

Usage:
    .venv/bin/python jars/maven.py -f jars/pom.xml package
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MAVEN_VERSION = "3.9.16"
# As published beside the archive on Maven Central.
MAVEN_SHA512 = (
    "ed41650d42485cfc243fad22158caf9cbb5dc408ce7a09ddb94dd42a019de929"
    "ca43065bfa450612cf12bf78b5cafa3884b96c090de326ff590448c933454af3"
)
JAVA_MINIMUM = 17
DOWNLOAD_ATTEMPTS = 3

JARS_DIR = Path(__file__).resolve().parent
INSTALL_DIR = JARS_DIR.parent / ".maven"
MAVEN_HOME = INSTALL_DIR / f"apache-maven-{MAVEN_VERSION}"

IVY_FILE = f"""\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="io.sparkext" module="build"/>
  <dependencies>
    <dependency org="org.apache.maven" name="apache-maven" rev="{MAVEN_VERSION}" transitive="false">
      <artifact name="apache-maven" type="zip" ext="zip" m:classifier="bin"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


class BuildError(Exception):
    """The build cannot start. The message says what to do."""


def jdk_home() -> Path:
    """Returns the home of the JDK to build with: JAVA_HOME, else that of the `java` on the PATH.

    Raises:
        BuildError: no Java, a runtime without compiler, or one that is too old.
    """
    java_home = os.environ.get("JAVA_HOME")
    java = str(Path(java_home, "bin", "java")) if java_home else shutil.which("java")
    if java is None:
        raise BuildError(f"Cannot build the jar: no `java` on the PATH. {_jdk_advice()}")
    try:
        # The JVM itself reports its home, because a path may be a link or a version manager's shim.
        shown = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            check=True,
        ).stderr
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(
            f"Cannot build the jar: `{java}` fails ({error}). {_jdk_advice()}"
        ) from None
    home = Path(_java_property(shown, "java.home"))
    version = _java_property(shown, "java.specification.version")
    if int(version.removeprefix("1.")) < JAVA_MINIMUM:
        raise BuildError(f"Cannot build the jar: `{java}` is Java {version}. {_jdk_advice()}")
    if not (home / "bin" / "javac").exists():
        raise BuildError(
            f"Cannot build the jar: `{home}` is a Java runtime, without `javac`. {_jdk_advice()}"
        )
    return home


def _java_property(shown: str, key: str) -> str:
    match = re.search(rf"^\s*{re.escape(key)} = (.+)$", shown, re.MULTILINE)
    if match is None:
        raise BuildError(f"Cannot build the jar: `java` does not tell its `{key}`. {_jdk_advice()}")
    return match.group(1).strip()


def _jdk_advice() -> str:
    return (
        f"Install a JDK, version {JAVA_MINIMUM} or later (Debian and Ubuntu: the package "
        f"`openjdk-{JAVA_MINIMUM}-jdk-headless`), or point JAVA_HOME to one."
    )


def install_maven(java: Path) -> None:
    """Installs Maven into `.maven/` completely, or changes nothing."""
    INSTALL_DIR.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=INSTALL_DIR) as work:
        archive = _download(java, Path(work))
        digest = hashlib.sha512(archive.read_bytes()).hexdigest()
        if digest != MAVEN_SHA512:
            raise BuildError(
                f"Cannot use the downloaded Maven {MAVEN_VERSION}: its SHA-512 is `{digest}`, "
                f"expected `{MAVEN_SHA512}`. Find out what stands between here and Maven Central."
            )
        unpacked = Path(work) / "unpacked"
        _unpack(archive, unpacked)
        try:
            (unpacked / MAVEN_HOME.name).rename(MAVEN_HOME)
        except OSError:
            if not MAVEN_HOME.exists():  # otherwise another build has written the same bytes
                raise


def _download(java: Path, work: Path) -> Path:
    (work / "ivy.xml").write_text(IVY_FILE)
    command = [str(java), "-jar", str(_ivy_jar())]
    command += ["-settings", str(JARS_DIR / "ivysettings.xml"), "-ivy", str(work / "ivy.xml")]
    # A separate cache: a broken download is deleted with its folder.
    command += ["-cache", str(work / "cache"), "-retrieve", str(work / "[artifact].[ext]")]
    for _ in range(DOWNLOAD_ATTEMPTS):
        ivy = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        archive = work / "apache-maven.zip"
        if ivy.returncode == 0 and archive.exists():
            return archive
        shutil.rmtree(work / "cache", ignore_errors=True)
    raise BuildError(
        f"Cannot download Maven {MAVEN_VERSION} from Maven Central: Ivy says\n{ivy.stdout}\n"
        "Check the network; behind a proxy set JAVA_TOOL_OPTIONS=-Dhttps.proxyHost=.. "
        "-Dhttps.proxyPort=.."
    )


def _ivy_jar() -> Path:
    jars = sorted(_package("pyspark").glob("jars/ivy-*.jar"))
    if not jars:
        raise BuildError(f"Cannot find Ivy in `{_package('pyspark') / 'jars'}`.")
    return jars[-1]


def _package(name: str) -> Path:
    """Returns the folder of an installed package."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise BuildError(f"Cannot find the package {name}. Run this with `.venv/bin/python`.")
    return Path(spec.origin).parent


def resources() -> list[str]:
    """Returns options that name the files for the jar: py4j's Python half and its license.

    Maven Central does not have these files. pyproject.toml pins the PySpark that contains both.
    """
    licenses = _package("pyspark") / "licenses"
    if not (licenses / "LICENSE-py4j.txt").is_file():
        raise BuildError(f"Cannot find the licence of py4j in `{licenses}`.")
    return [f"-Dpy4j.python={_package('py4j')}", f"-Dpyspark.licenses={licenses}"]


def _unpack(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        for entry in content.infolist():
            path = Path(content.extract(entry, target))
            mode = entry.external_attr >> 16  # zipfile drops it, but `mvn` must be executable
            if mode and path.is_file():
                path.chmod(mode & 0o777)


def main() -> None:
    try:
        home = jdk_home()
        if not MAVEN_HOME.exists():
            print(f"Fetching Maven {MAVEN_VERSION} into .maven/ (once)", file=sys.stderr)
            install_maven(home / "bin" / "java")
        carried = resources()
    except BuildError as error:
        sys.exit(str(error))
    maven = MAVEN_HOME / "bin" / "mvn"
    os.execve(maven, [str(maven), *carried, *sys.argv[1:]], {**os.environ, "JAVA_HOME": str(home)})


if __name__ == "__main__":
    main()
