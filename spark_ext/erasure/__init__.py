# SPDX-License-Identifier: Apache-2.0
"""Finds the places with data of dropped columns, and the steps that erase it."""
