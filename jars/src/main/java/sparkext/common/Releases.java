// SPDX-License-Identifier: Apache-2.0
package sparkext.common;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The releases of Spark and Delta in {@code spark_ext/releases.json}, which the matrix of the tests
 * reads too.
 *
 * <p>This class uses Jackson 2.10 only, because a Spark that must be refused may have that version.
 */
public final class Releases {
  private static final JsonNode LISTED = Conditions.listed("releases.json");

  /** The supported pairs as a text. */
  static final String SUPPORTED = LISTED.required("supported").textValue();

  /** The supported Scala version. */
  public static final String SCALA = LISTED.required("scala").textValue();

  /** The minor releases of Spark, such as 4.2, oldest first. */
  public static final List<String> SPARKS = names("sparks");

  /** The releases of Spark that tests run on, such as 4.2.1. */
  public static final List<String> TESTED_SPARKS =
      SPARKS.stream().flatMap(Releases::tested).toList();

  /** The releases of Delta that the hooks are tested with, oldest first. */
  public static final List<String> DELTAS = names("deltas");

  private Releases() {}

  private static Stream<String> tested(String line) {
    JsonNode releases = LISTED.required("sparks").required(line);
    return IntStream.range(0, releases.size()).mapToObj(at -> releases.get(at).textValue());
  }

  private static List<String> names(String field) {
    List<String> names = new ArrayList<>();
    LISTED.required(field).fieldNames().forEachRemaining(names::add);
    return List.copyOf(names);
  }
}
