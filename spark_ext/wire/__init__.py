# SPDX-License-Identifier: Apache-2.0
"""What travels between the two halves, as JSON; `sparkext.wire` is the other end."""
