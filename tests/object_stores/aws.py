# SPDX-License-Identifier: Apache-2.0
"""Adds `s3a:` to a Spark session by hadoop-aws and the modules of the AWS SDK that it needs.

hadoop-aws depends on a jar of the whole SDK with 700 MB. The modules have 13 MB: S3, copies,
streams, and STS, without which S3A finds no credentials. Spark contains Netty, Apache's HTTP client
and the loggers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from tests.object_stores.s3 import ACCESS_KEY, REGION, SECRET_KEY
from tests.support.fetched import alone, jars, whole, without

# Each Hadoop was built with an SDK and an analytics accelerator (hadoop-project-*.pom). 3.4.1 does
# not use the accelerator, and Maven Central lacks an s3-transfer-manager of its SDK 2.24.6.
SDKS = {
    "3.4.1": ("2.24.8", "1.2.1"),
    "3.4.2": ("2.29.52", "1.2.1"),
    "3.5.0": ("2.35.4", "1.3.1"),
}
MODULES = ("s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
OF_SPARK = ("io.netty", "org.apache.httpcomponents", "org.slf4j", "commons-codec")


def hadoop_version() -> str:
    """Returns the version of Hadoop in the installed Spark."""
    (client,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    return client.stem.removeprefix("hadoop-client-api-")


def aws_jars(hadoop: str | None = None) -> list[Path]:
    """Returns the jars for a Hadoop version, and fetches them at the first call."""
    hadoop = hadoop or hadoop_version()
    sdk, accelerator = SDKS[hadoop]
    return jars(
        f"aws-{hadoop}",
        [
            alone(f"org.apache.hadoop:hadoop-aws:{hadoop}"),
            alone(f"software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:{accelerator}"),
            *(whole(f"software.amazon.awssdk:{module}:{sdk}") for module in MODULES),
            *map(without, (*OF_SPARK, "commons-logging")),
        ],
    )


def s3a_settings(url: str) -> dict[str, str]:
    """Returns the settings of S3A for a test server, without the prefix `fs.s3a.`."""
    return {
        "endpoint": url,
        "endpoint.region": REGION,
        "path.style.access": "true",
        "access.key": ACCESS_KEY,
        "secret.key": SECRET_KEY,
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }


def with_s3a(builder: SparkSession.Builder, settings: Mapping[str, str]) -> SparkSession.Builder:
    """Configures a session in a new process with the jars and the settings of stores."""
    for name, value in settings.items():
        builder.config(f"spark.hadoop.{name}", value)
    return builder.config("spark.jars", ",".join(map(str, aws_jars())))


def add_to(spark: SparkSession) -> None:
    """Adds the jars to a running local session, as `spark.jars` would have.

    They go to the class loader of our jar. The driver uses this loader, and the executor's loader
    is below it. After ADD JAR, the thread's class loader is below the loader of our jar.
    """
    jvm: Any = spark._jvm
    lowest = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    ours = jvm.java.lang.Class.forName("sparkext.UsageTrackingExtension", False, lowest)
    loader = ours.getClassLoader()
    here = {url.getFile() for url in loader.getURLs()}
    for jar in aws_jars():
        url = jar.resolve().as_uri()
        if url.removeprefix("file://") not in here:
            loader.addURL(jvm.java.net.URI.create(url).toURL())
