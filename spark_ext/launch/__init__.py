# SPDX-License-Identifier: Apache-2.0
"""How Spark is started with spark-ext, and which Spark."""
