// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import sparkext.parquet.ColumnPlan;
import sparkext.parquet.Columns;
import sparkext.parquet.Columns.Column;
import sparkext.parquet.Columns.Leaf;
import sparkext.parquet.Columns.ListOf;
import sparkext.parquet.Columns.MapOf;
import sparkext.parquet.Columns.Struct;
import sparkext.parquet.Columns.Type;

/** Reads a column plan; {@code spark_ext/removal/copy_plan.py} describes the shape. */
public final class PlanJson {
  private PlanJson() {}

  /** Reads a plan from a text. */
  public static ColumnPlan parse(String json) throws IOException {
    return of(Json.read(json));
  }

  /** Returns the plan in an answer; empty for null. */
  static Optional<ColumnPlan> optional(JsonNode plan) {
    return plan.isNull() ? Optional.empty() : Optional.of(of(plan));
  }

  private static ColumnPlan of(JsonNode plan) {
    return new ColumnPlan(
        plan.required("byId").booleanValue(),
        plan.required("keepsIds").booleanValue(),
        names(plan.required("kept")),
        names(plan.required("ignored")),
        columns(plan.required("columns")));
  }

  private static List<String> names(JsonNode array) {
    List<String> names = new ArrayList<>();
    array.forEach(name -> names.add(name.textValue()));
    return names;
  }

  private static Columns columns(JsonNode array) {
    List<Column> columns = new ArrayList<>();
    for (JsonNode column : array) {
      columns.add(
          new Column(
              column.required("id").intValue(),
              column.required("name").textValue(),
              column.required("newName").textValue(),
              type(column.required("type"))));
    }
    return new Columns(columns);
  }

  private static Type type(JsonNode type) {
    if (type.has("struct")) {
      return new Struct(columns(type.get("struct")));
    }
    if (type.has("array")) {
      return new ListOf(type(type.get("array")));
    }
    if (type.has("map")) {
      return new MapOf(type(type.get("map").get(0)), type(type.get("map").get(1)));
    }
    return new Leaf();
  }

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
}
