// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import java.util.Optional;
import sparkext.parquet.ColumnPlan;

/**
 * How column mapping may be removed from a table.
 *
 * @param isFree whether by metadata alone
 * @param plan if not, what becomes of the columns in the files; nothing where mapping is off
 */
public record Leaving(boolean isFree, Optional<ColumnPlan> plan) {}
