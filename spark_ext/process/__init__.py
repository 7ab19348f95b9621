# SPDX-License-Identifier: Apache-2.0
"""The rule process, which the JVM starts: only here is py4j spoken, and nowhere pyspark."""
