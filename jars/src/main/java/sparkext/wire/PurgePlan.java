// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;
import sparkext.parquet.ColumnPlan;

/**
 * The answer to {@link Question.Purge}.
 *
 * @param plan the plan for the columns in the files; empty if column mapping is off
 */
record PurgePlan(Optional<ColumnPlan> plan) {
  @JsonCreator
  static PurgePlan of(@JsonProperty("plan") JsonNode plan) {
    return new PurgePlan(PlanJson.optional(plan));
  }
}
