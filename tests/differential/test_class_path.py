# SPDX-License-Identifier: Apache-2.0
"""Jars and folders with a class somewhere, as we see it and as a class loader of Java finds it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_ext.launch.class_path import JARS, class_path

NAME = "org.example.Wanted"
ENTRY = "org/example/Wanted.class"
MULTI_RELEASE = "Multi-Release: true\r\n"
LONG = "/".join(["deep"] * 30)


def archive(path: Path, *entries: str, manifest: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\n{manifest}\r\n")
        for entry in entries:
            jar.writestr(entry, b"\xca\xfe\xba\xbe")


def naming(urls: str) -> str:
    """A manifest's line, cut as it has to be."""
    line = f"Class-Path: {urls}"
    return "\r\n ".join(line[at : at + 70] for at in range(0, len(line), 70)) + "\r\n"


def a_class_in_the_jar(folder: Path) -> None:
    archive(folder / "first.jar", ENTRY)


def another_class(folder: Path) -> None:
    archive(folder / "first.jar", "org/example/Other.class")


def a_folder_of_classes(folder: Path) -> None:
    (folder / "first.jar" / ENTRY).parent.mkdir(parents=True)
    (folder / "first.jar" / ENTRY).write_bytes(b"\xca\xfe\xba\xbe")


def of_a_version_that_every_java_has(folder: Path) -> None:
    archive(folder / "first.jar", f"META-INF/versions/17/{ENTRY}", manifest=MULTI_RELEASE)


def of_several_versions(folder: Path) -> None:
    entries = (f"META-INF/versions/{version}/{ENTRY}" for version in (99, 11))
    archive(folder / "first.jar", *entries, manifest="multi-release: TRUE\r\n")


def of_versions_that_are_not_asked_for(folder: Path) -> None:
    archive(folder / "first.jar", f"META-INF/versions/11/{ENTRY}")


def of_versions_of_an_entry(folder: Path) -> None:
    section = f"\r\nName: {ENTRY}\r\n{MULTI_RELEASE}"
    archive(folder / "first.jar", f"META-INF/versions/11/{ENTRY}", manifest=section)


def in_a_jar_beside(folder: Path) -> None:
    archive(folder / "first.jar", manifest=naming("none.jar beside.jar"))
    archive(folder / "beside.jar", ENTRY)


def in_a_jar_with_a_long_and_odd_name(folder: Path) -> None:
    archive(folder / "first.jar", manifest=naming(f"{LONG}/odd%20n%C3%A4me.jar"))
    archive(folder / LONG / "odd näme.jar", ENTRY)


def in_a_jar_that_a_named_jar_names(folder: Path) -> None:
    archive(folder / "first.jar", manifest=naming("lib/second.jar"))
    archive(folder / "lib" / "second.jar", manifest=naming("../first.jar ../third.jar"))
    archive(folder / "third.jar", ENTRY)


def in_a_jar_with_a_whole_url(folder: Path) -> None:
    beside = folder / "elsewhere" / "beside.jar"
    archive(folder / "first.jar", manifest=naming(beside.as_uri()))
    archive(beside, ENTRY)


def in_a_named_folder(folder: Path) -> None:
    archive(folder / "first.jar", manifest=naming("classes/"))
    (folder / "classes" / ENTRY).parent.mkdir(parents=True)
    (folder / "classes" / ENTRY).write_bytes(b"\xca\xfe\xba\xbe")


def in_a_jar_of_another_scheme(folder: Path) -> None:
    archive(folder / "first.jar", manifest=naming("http://localhost:1/beside.jar"))
    archive(folder / "beside.jar", ENTRY)


CASES = [
    (a_class_in_the_jar, True),
    (another_class, False),
    (a_folder_of_classes, True),
    (of_a_version_that_every_java_has, True),
    (of_several_versions, True),
    (of_versions_that_are_not_asked_for, False),
    (of_versions_of_an_entry, False),
    (in_a_jar_beside, True),
    (in_a_jar_with_a_long_and_odd_name, True),
    (in_a_jar_that_a_named_jar_names, True),
    (in_a_jar_with_a_whole_url, True),
    (in_a_named_folder, True),
    (in_a_jar_of_another_scheme, False),
]


def as_java_finds_it(spark: SparkSession, place: Path) -> bool:
    jvm, gateway = spark._jvm, spark.sparkContext._gateway
    assert jvm is not None
    assert gateway is not None
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(str(place)).toURI().toURL()
    loader = jvm.java.net.URLClassLoader(urls, None)
    try:
        return loader.getResource(ENTRY) is not None
    finally:
        loader.close()


@pytest.mark.every_variant
@pytest.mark.parametrize(("made", "expected"), CASES, ids=[made.__name__ for made, _ in CASES])
def test_a_class_is_where_java_finds_it(
    spark: SparkSession, tmp_path: Path, made: object, expected: bool
) -> None:
    assert callable(made)
    (tmp_path / "jars").mkdir()
    # A Spark whose own jars can be looked into, so that what is not found is nowhere.
    archive(tmp_path / "jars" / "spark.jar", "org/example/Sparks.class")
    made(tmp_path)
    first = tmp_path / "first.jar"

    seen = class_path(tmp_path, {JARS: str(first)}, {}).has(NAME)

    assert as_java_finds_it(spark, first) is expected
    assert seen is expected


def test_a_class_of_a_later_java_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    archive(
        tmp_path / "jars" / "spark.jar", f"META-INF/versions/99/{ENTRY}", manifest=MULTI_RELEASE
    )

    assert class_path(tmp_path, {}, {}).has(NAME) is None
