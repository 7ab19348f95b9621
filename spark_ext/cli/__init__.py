# SPDX-License-Identifier: Apache-2.0
"""The commands of `python -m spark_ext`; most start a session."""
