# SPDX-License-Identifier: Apache-2.0
"""What `spark-defaults.conf` sets for every session that is started without `configure`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spark_ext.doctor.diagnoses import NOTE, OK, PROBLEM, Diagnosis, without_jar
from spark_ext.doctor.jars import are_alike, jar_version
from spark_ext.errors import ExtensionJarMissingError
from spark_ext.launch import session
from spark_ext.launch.class_path import JARS, PACKAGES, ClassPath, entries
from spark_ext.launch.releases import DELTA_EXTENSION, USAGE_TRACKING_EXTENSION, is_delta
from spark_ext.launch.session import CATALOG, DELTA_CATALOG, EXTENSIONS
from spark_ext.launch.spark_defaults import defaults, is_there

CATALOG_IMPLEMENTATION = "spark.sql.catalogImplementation"

# Catalogs that are none of Delta's; one of somebody's own may extend it.
_NO_DELTA_CATALOG = ("org.apache.", "io.delta.")


def defaults_and_finding(file: Path | None) -> tuple[dict[str, str], Diagnosis]:
    """The settings, or none where they cannot be read; and which it is."""
    try:
        settings = defaults(file)
    except OSError as unreadable:
        advice = f"Let the user of the session read {file}: Spark reads it at every start."
        problem = f"It cannot be read: {unreadable}"
        return {}, Diagnosis("defaults", PROBLEM, str(file), problem, advice)
    # Not the values: some are passwords.
    found = f"{len(settings)} settings in {file}" if is_there(file) else _none(file)
    return settings, Diagnosis("defaults", OK, found)


def extensions(file: Path | None, settings: Mapping[str, str]) -> Diagnosis:
    """Whether sessions have both extensions without `configure`."""
    found = _shown(file, settings, EXTENSIONS)
    named = [entry.strip() for entry in settings.get(EXTENSIONS, "").split(",")]
    if USAGE_TRACKING_EXTENSION not in named:
        return Diagnosis(
            "extensions",
            NOTE,
            found,
            "Sessions do not have the extension by themselves.",
            "Build them with `spark_ext.configure`, or start them with the arguments that "
            "`python -m spark_ext submit-args` prints.",
        )
    if DELTA_EXTENSION not in named:
        advice = f"Set {EXTENSIONS} to {DELTA_EXTENSION},{USAGE_TRACKING_EXTENSION}."
        return Diagnosis("extensions", PROBLEM, found, "Delta's extension is missing.", advice)
    return Diagnosis("extensions", OK, found)


def catalogs(file: Path | None, settings: Mapping[str, str]) -> Diagnosis:
    """Whether Delta's catalog is the session catalog wherever the extensions are set."""
    catalog = settings.get(CATALOG, "")
    kind = settings.get(CATALOG_IMPLEMENTATION, "in-memory")
    found = _shown(file, settings, CATALOG, CATALOG_IMPLEMENTATION)
    advice = f"Set {CATALOG} to {DELTA_CATALOG}."
    if kind not in ("in-memory", "hive"):
        problem = f"{CATALOG_IMPLEMENTATION} is neither `in-memory` nor `hive`."
        return Diagnosis("catalogs", PROBLEM, found, problem, "Set it to one, or unset it.")
    if catalog == DELTA_CATALOG:
        return Diagnosis("catalogs", OK, found)
    if catalog.startswith(_NO_DELTA_CATALOG):
        return Diagnosis("catalogs", PROBLEM, found, "This is not Delta's catalog.", advice)
    if catalog:
        problem = "Statements on Delta tables fail unless this catalog extends Delta's."
        return Diagnosis("catalogs", NOTE, found, problem)
    if USAGE_TRACKING_EXTENSION in settings.get(EXTENSIONS, ""):
        problem = "Statements on Delta tables fail without Delta's catalog."
        return Diagnosis("catalogs", PROBLEM, found, problem, advice)
    return Diagnosis("catalogs", OK, found)


def class_path(driver: ClassPath, settings: Mapping[str, str]) -> Diagnosis:
    """Where sessions find our jar, and that they find one only."""
    try:
        ours = session.jar()
    except ExtensionJarMissingError:
        return without_jar("class path")
    places = {
        source: [path for path in paths if jar_version(path)]
        for source, paths in driver.places.items()
    }
    there = [f"{path} ({source})" for source, paths in places.items() for path in paths]
    others = [path for paths in places.values() for path in paths if not are_alike(path, ours)]
    found = "; ".join(there) or f"{ours} (spark_ext.configure, submit-args)"
    if others:
        problem = f"{others[0]} differs from {ours}, which `configure` and `submit-args` add."
        advice = f"Replace it by {ours}, or leave it out."
        return Diagnosis("class path", PROBLEM, found, problem, advice)
    named = settings.get(EXTENSIONS, "")
    advices = {}
    if not there and USAGE_TRACKING_EXTENSION in named:
        advices[USAGE_TRACKING_EXTENSION] = f"Set {JARS} to {ours}."
    if DELTA_EXTENSION in named and not _brings_delta(driver, settings):
        advices[DELTA_EXTENSION] = f"Set {PACKAGES} to {session.submit_options()[PACKAGES]}."
    if advices and driver.unseen:
        problem = f"{EXTENSIONS} names the extension; whether its jar comes by this is not seen."
        return Diagnosis("class path", NOTE, ", ".join(driver.unseen), problem)
    if advices:
        problem = f"{EXTENSIONS} names {' and '.join(advices)}, and nothing has its jar."
        return Diagnosis(
            "class path", PROBLEM, found if there else "none", problem, " ".join(advices.values())
        )
    return Diagnosis("class path", OK, found)


def _brings_delta(driver: ClassPath, settings: Mapping[str, str]) -> bool:
    packages = entries(settings.get(PACKAGES, ""))
    return bool(driver.holders(DELTA_EXTENSION)) or any(map(is_delta, packages))


def _none(file: Path | None) -> str:
    return f"no {file or 'spark-defaults.conf'}"


def _shown(file: Path | None, settings: Mapping[str, str], *keys: str) -> str:
    if not is_there(file):
        return _none(file)
    named = [f"{key}={settings[key]}" for key in keys if key in settings]
    return f"{', '.join(named) or 'nothing'} in {file}"
