// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;

/** The columns and the rows of a table function. */
public record Relation(StructType schema, List<Row> rows) {}
