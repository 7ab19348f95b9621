# SPDX-License-Identifier: Apache-2.0
"""Starts Spark with spark-ext, and knows the releases that fit."""
