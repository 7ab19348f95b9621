// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Reads the lines of a log's JSON file that Spark's JSON reader would see. Delta reads logs by that
 * reader, which skips blank lines and byte order marks. Other writers may write them.
 *
 * <p>Source: Spark 4.0 to 4.2, JsonDataSource.scala, JacksonParser.scala, JSONOptions.scala and
 * Hadoop's LineRecordReader.
 */
public final class CommitLines implements Closeable {
  /** Reads numbers as Spark's JSON reader does. */
  static final ObjectMapper JSON =
      JsonMapper.builder().enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS).build();

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
