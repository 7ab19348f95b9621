# SPDX-License-Identifier: Apache-2.0
"""The rule process, which the JVM starts.

Of its packages, only this one imports py4j, and none imports pyspark.
"""
