# SPDX-License-Identifier: Apache-2.0
"""Where the data of dropped columns still is, and what takes it away."""
