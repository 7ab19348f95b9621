// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.Serializable;
import java.net.URI;
import org.apache.hadoop.fs.Path;
import sparkext.parquet.StoredVector;

/**
 * A file for a job.
 *
 * @param number by which its result is known
 * @param source its absolute path, as a URI
 * @param size as the table's log has it
 * @param target where its copy goes, without the attempt and the ending of its name; null where
 *     nothing is to be written
 * @param mayStay whether it can be kept where it is, if its names are right
 * @param reason why it has to be rewritten, so that its deletion vector alone is read; else null
 * @param vector its deletion vector, if that is in a file; else null
 */
public record Order(
    int number,
    String source,
    long size,
    String target,
    boolean mayStay,
    String reason,
    Vector vector)
    implements Serializable {
  /**
   * The deletion vector of a file, which is read in any case.
   *
   * @param target where the vector of a copied file goes, without the last two of the five parts of
   *     the UUID in its name; null where it stays where it is
   */
  public record Vector(StoredVector stored, String target) implements Serializable {}

  Path path() {
    return new Path(URI.create(source));
  }
}
