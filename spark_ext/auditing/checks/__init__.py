# SPDX-License-Identifier: Apache-2.0
"""The checks: a file each, with one function of its name; they share the replay and no more."""
