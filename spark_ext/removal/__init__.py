# SPDX-License-Identifier: Apache-2.0
"""Stages, costs and plans of a removal of column mapping: pure functions on metadata."""
