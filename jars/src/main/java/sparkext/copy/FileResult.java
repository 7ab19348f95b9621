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
 */
public record FileResult(int number, DataFile.Way way, String target, long size, String reason)
    implements Serializable {
  /** A file that is not copied, whatever is in it. */
  public static FileResult toRewrite(int number, String reason) {
    return new FileResult(number, DataFile.Way.TO_REWRITE, null, 0, reason);
  }

  static FileResult of(int number, String target, DataFile.Outcome outcome) {
    String copy = outcome.way() == DataFile.Way.COPIED ? target : null;
    return new FileResult(number, outcome.way(), copy, outcome.length(), outcome.reason());
  }
}
