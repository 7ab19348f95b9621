# SPDX-License-Identifier: Apache-2.0
"""`python -m spark_ext doctor`: what is wrong on this machine, and what to do about it."""
