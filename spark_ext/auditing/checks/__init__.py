# SPDX-License-Identifier: Apache-2.0
"""The checks by subject: a check is a function with the decorator `check` or `state_check`."""
