// SPDX-License-Identifier: Apache-2.0
package sparkext.feature;

import org.apache.spark.sql.delta.actions.Metadata;
import scala.collection.immutable.Map;

/** A table's metadata with another schema or other properties: what may change of it here. */
public final class ChangedMetadata {
  private ChangedMetadata() {}

  /** The rest stays; Java has none of the defaults of Scala's {@code copy}. */
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
