# SPDX-License-Identifier: Apache-2.0
"""What users call in a Spark session."""
