// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.databind.util.RawValue;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.delta.actions.Metadata;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The part of a table's metadata that rules read.
 *
 * <p>A part that equals the part of earlier metadata in the message is replaced by a name, because
 * wide schemas have megabytes.
 *
 * @param schema JSON, or the name of earlier metadata with the same schema; null for none
 * @param configuration the properties that start with {@code delta.} and {@link #ALIGNING}, or the
 *     name of earlier metadata with the same properties
 */
record TableMetadata(Object schema, Object configuration) {
  /** The former mode and column ids of a table whose names are being aligned. */
  static final String ALIGNING = "sparkext.columnMapping.aligning";

  private static final String DELTA_PREFIX = "delta.";
  private static final String OLD = "=old";
  private static final String PROPOSED = "=proposed";

  /** Returns metadata that refers to no earlier metadata. */
  static TableMetadata of(Metadata metadata) {
    return of(metadata, null, null);
  }

  /** Returns metadata that may refer to earlier metadata, which may be null. */
  static TableMetadata of(Metadata metadata, Metadata old, Metadata proposed) {
    return new TableMetadata(
        schema(metadata, old, proposed), configuration(metadata, old, proposed));
  }

  private static Object schema(Metadata metadata, Metadata old, Metadata proposed) {
    String schema = metadata.schemaString();
    if (schema == null) {
      return null;
    }
    if (old != null && schema.equals(old.schemaString())) {
      return OLD;
    }
    if (proposed != null && schema.equals(proposed.schemaString())) {
      return PROPOSED;
    }
    return new RawValue(schema);
  }

  private static Object configuration(Metadata metadata, Metadata old, Metadata proposed) {
    if (old != null && metadata.configuration().equals(old.configuration())) {
      return OLD;
    }
    if (proposed != null && metadata.configuration().equals(proposed.configuration())) {
      return PROPOSED;
    }
    Map<String, String> read =
        new LinkedHashMap<>(CollectionConverters.asJava(metadata.configuration()));
    read.keySet().removeIf(key -> !isRead(key));
    read.values().removeIf(Objects::isNull); // of another writer
    return read;
  }

  /** Returns whether the rules read a property. They read no properties of users. */
  private static boolean isRead(String key) {
    return key.equals(ALIGNING)
        || key.regionMatches(/* ignoreCase= */ true, 0, DELTA_PREFIX, 0, DELTA_PREFIX.length());
  }
}
