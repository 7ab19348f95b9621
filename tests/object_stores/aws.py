# SPDX-License-Identifier: Apache-2.0
"""`s3a:` for a Spark session: hadoop-aws and those modules of the AWS SDK that it needs.

What hadoop-aws itself asks for is the SDK as one jar of 700 MB. These are 13 MB: S3, what copies
and streams need, and STS, without which no credentials are found. Netty, Apache's HTTP client and
the loggers are Spark's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from tests.object_stores.fetched import alone, jars, whole, without
from tests.object_stores.s3 import ACCESS_KEY, REGION, SECRET_KEY

# The SDK and the accelerator of streams that a Hadoop was built with (hadoop-project-*.pom). 3.4.1
# has no such stream, and does not mind the jar; of its SDK, 2.24.6, Maven Central has no
# s3-transfer-manager.
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


def finding(url: str) -> dict[str, str]:
    """Returns the settings of S3A for a server of these tests, without the prefix `fs.s3a.`."""
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

    There the driver, our jar and the executor, whose class loader is below it, find them. Once a
    test has said ADD JAR, the thread's class loader is below our jar's.
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
