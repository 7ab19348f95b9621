# SPDX-License-Identifier: Apache-2.0
"""What people see of a result: tables as text and as HTML."""
