# SPDX-License-Identifier: Apache-2.0
"""Renders results for people, as text and as HTML."""
