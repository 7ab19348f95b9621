// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;
import sparkext.parquet.ColumnPlan;

/**
 * The answer to {@link Question.Removal}: how a table may remove column mapping.
 *
 * @param isFree whether metadata alone suffices
 * @param plan the plan for the columns in the files; empty if the removal is metadata only, if
 *     column mapping is off, or if nothing is copied
 */
public record AllowedRemoval(boolean isFree, Optional<ColumnPlan> plan) {
  @JsonCreator
  static AllowedRemoval of(
      @JsonProperty("free") boolean free, @JsonProperty("plan") JsonNode plan) {
    return new AllowedRemoval(free, PlanJson.optional(plan));
  }
}
