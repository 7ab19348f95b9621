# SPDX-License-Identifier: Apache-2.0
"""The version of the package; that of the jar is the same."""

__version__ = "0.1.0"
