// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;
import sparkext.parquet.ColumnPlan;

/**
 * How a table may remove column mapping.
 *
 * @param isFree whether by metadata alone
 * @param plan if not, what becomes of the columns in the files; nothing where mapping is off
 */
public record Removal(boolean isFree, Optional<ColumnPlan> plan) {
  /** What the rules answer. */
  @JsonCreator
  static Removal of(@JsonProperty("free") boolean free, @JsonProperty("plan") JsonNode plan) {
    return new Removal(free, plan.isNull() ? Optional.empty() : Optional.of(PlanJson.of(plan)));
  }
}
