// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of each table function of the rule process, which a query needs before the function
 * reads anything. {@code jars/function_columns.py} derives them from the dataclasses of the rows.
 */
public final class FunctionColumns {
  private static final JsonNode ALL = read();

  private FunctionColumns() {}

  /** Returns the columns of a table function. */
  public static StructType of(String function) {
    return StructType.fromDDL(ALL.required(function).textValue());
  }

  private static JsonNode read() {
    try (InputStream list = FunctionColumns.class.getResourceAsStream("function_columns.json")) {
      return Json.read(new String(list.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }
}
