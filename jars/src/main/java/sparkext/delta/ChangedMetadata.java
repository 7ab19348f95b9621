// SPDX-License-Identifier: Apache-2.0
package sparkext.delta;

import org.apache.spark.sql.delta.actions.Metadata;
import scala.collection.immutable.Map;

/** Copies a table's metadata with another schema and other properties. */
public final class ChangedMetadata {
  private ChangedMetadata() {}

  /** Returns the copy. Java cannot call Scala's {@code copy} with its default arguments. */
  public static Metadata of(Metadata old, String schemaString, Map<String, String> configuration) {
    return old.copy(
        old.id(),
        old.name(),
        old.description(),
        old.format(),
        schemaString,
        old.partitionColumns(),
        configuration,
        old.createdTime());
  }
}
