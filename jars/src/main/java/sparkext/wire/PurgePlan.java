// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;
import sparkext.parquet.ColumnPlan;

/**
 * How a table is purged of dropped columns.
 *
 * @param plan what becomes of the columns in the files; nothing where mapping is off
 */
record Purge(Optional<ColumnPlan> plan) {
  /** What the rules answer. */
  @JsonCreator
  static Purge of(@JsonProperty("plan") JsonNode plan) {
    return new Purge(plan.isNull() ? Optional.empty() : Optional.of(PlanJson.of(plan)));
  }
}
