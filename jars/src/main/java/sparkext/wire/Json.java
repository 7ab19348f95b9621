// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.UncheckedIOException;

/** Writes and reads JSON. */
final class Json {
  /** Strict, because a lenient mapper turns invalid values into null, 0 or true. */
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .build();

  private Json() {}

  /** Returns a record as an object whose keys are the record's components. */
  static String write(Object value) {
    try {
      return MAPPER.writeValueAsString(value);
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  /** Returns the record whose components are the keys of an object. */
  static <T extends Record> T record(JsonNode object, Class<T> type)
      throws JsonProcessingException {
    return MAPPER.treeToValue(object, type);
  }

  static JsonNode read(String text) throws JsonProcessingException {
    return MAPPER.readTree(text);
  }
}
