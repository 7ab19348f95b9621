# SPDX-License-Identifier: Apache-2.0
"""Runs one goal for many tables in one call: plans from one survey, runs, and reports."""
