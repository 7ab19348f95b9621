# SPDX-License-Identifier: Apache-2.0
"""Calls for one table and for many: the goals, and what finds, runs and reports."""
