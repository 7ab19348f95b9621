// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.exc.MismatchedInputException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Reads the lines of a log's JSON file that Spark's JSON reader would see. Delta reads logs by that
 * reader, which skips blank lines and byte order marks, and accepts arrays and single quotes. Other
 * writers may write them.
 *
 * <p>Source: Spark 4.0 to 4.2, JsonDataSource.scala, JacksonParser.scala, JSONOptions.scala and
 * Hadoop's LineRecordReader.
 */
public final class CommitLines implements Closeable {
  /** Reads what Spark's JSON reader accepts by its defaults. */
  static final ObjectMapper JSON =
      JsonMapper.builder()
          .enable(JsonReadFeature.ALLOW_SINGLE_QUOTES, JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
          .build();

  private static final String BYTE_ORDER_MARK = "\uFEFF";

  private final BufferedReader reader;
  private int number;

  /** Opens a file. */
  public CommitLines(Path path, Configuration configuration) throws IOException {
    reader =
        new BufferedReader(
            new InputStreamReader(
                path.getFileSystem(configuration).open(path), StandardCharsets.UTF_8));
  }

  /** Returns the next line that is not blank, or null at the end of the file. */
  public String next() throws IOException {
    for (String read; (read = reader.readLine()) != null; ) {
      number++;
      String line = read.startsWith(BYTE_ORDER_MARK) ? read.substring(1) : read;
      if (!isBlank(line)) {
        return line;
      }
    }
    return null;
  }

  /**
   * Returns the objects of a line: a row of Spark's JSON reader each.
   *
   * @throws JsonProcessingException the line is neither an object nor an array of objects
   */
  static List<JsonNode> objects(String line) throws JsonProcessingException {
    JsonNode parsed = JSON.readTree(line);
    List<JsonNode> objects = new ArrayList<>();
    if (parsed.isArray()) {
      parsed.forEach(objects::add);
    } else {
      objects.add(parsed);
    }
    if (!objects.stream().allMatch(JsonNode::isObject)) {
      throw mismatch("it is neither an object nor an array of objects");
    }
    return objects;
  }

  static JsonProcessingException mismatch(String reason) {
    return MismatchedInputException.from((JsonParser) null, JsonNode.class, reason);
  }

  /** Returns the number of the last line that was read, which is 1 for the first. */
  public int number() {
    return number;
  }

  /** Returns whether a line is blank for a JSON parser. Other white space is invalid JSON. */
  private static boolean isBlank(String line) {
    return line.chars().allMatch(sign -> sign == ' ' || sign == '\t');
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }
}
