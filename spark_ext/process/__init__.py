# SPDX-License-Identifier: Apache-2.0
"""The rule process, which the JVM starts. No other package of it imports py4j, none pyspark."""
