// SPDX-License-Identifier: Apache-2.0
package sparkext.error;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code spark_ext/releases.json}, which both halves read, has of Spark and Delta.
 *
 * <p>Calls nothing of Jackson that is newer than 2.10: a Spark that is to be refused has an older
 * one.
 */
public final class Releases {
  private static final JsonNode LISTED = Conditions.listed("releases.json");

  /** The pairs that work together, in words. */
  static final String SUPPORTED = LISTED.required("supported").textValue();

  /** The one line of Scala. */
  public static final String SCALA = LISTED.required("scala").textValue();

  /** The lines of Spark, such as 4.2, oldest first. */
  public static final List<String> SPARKS = names("sparks");

  /** The releases of Delta whose hooks were tried, oldest first. */
  public static final List<String> DELTAS = names("deltas");

  private Releases() {}

  private static List<String> names(String field) {
    List<String> names = new ArrayList<>();
    LISTED.required(field).fieldNames().forEachRemaining(names::add);
    return List.copyOf(names);
  }
}
