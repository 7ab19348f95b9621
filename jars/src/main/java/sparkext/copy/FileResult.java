// SPDX-License-Identifier: Apache-2.0
package sparkext.copy;

import java.io.Serializable;
import sparkext.parquet.DataFile;

/**
 * What became of a data file.
 *
 * @param number that of its order
 * @param target the URI of the copy, if there is one
 * @param size the copy's
 * @param reason why it has to be rewritten, or cannot be read; null otherwise
 * @param unreadable the path of what cannot be read, the file's or its deletion vector's; null
 *     otherwise
 * @param vector the URI of the copy of its deletion vector; null without one
 */
public record FileResult(
    int number,
    DataFile.Way way,
    String target,
    long size,
    String reason,
    String unreadable,
    String vector)
    implements Serializable {
  /** A file that is not copied, whatever is in it. */
  public static FileResult toRewrite(int number, String reason) {
    return new FileResult(number, DataFile.Way.TO_REWRITE, null, 0, reason, null, null);
  }

  /** A file that nobody can read, by itself or by its deletion vector. */
  static FileResult unreadable(int number, String path, String reason) {
    return new FileResult(number, DataFile.Way.UNREADABLE, null, 0, reason, path, null);
  }

  static FileResult of(Order order, String target, DataFile.Outcome outcome) {
    if (outcome.way() == DataFile.Way.UNREADABLE) {
      return unreadable(order.number(), order.path().toString(), outcome.reason());
    }
    String copy = outcome.way() == DataFile.Way.COPIED ? target : null;
    return new FileResult(
        order.number(), outcome.way(), copy, outcome.length(), outcome.reason(), null, null);
  }

  /** The same with a copy of its deletion vector, or without one. */
  public FileResult withVector(String copy) {
    return new FileResult(number, way, target, size, reason, unreadable, copy);
  }
}
