# SPDX-License-Identifier: Apache-2.0
"""Reads and writes the JSON between the two halves; `sparkext.wire` is the Java side."""
