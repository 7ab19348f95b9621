# SPDX-License-Identifier: Apache-2.0
"""The functions and classes that users call in a Spark session."""
