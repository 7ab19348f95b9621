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
public record FileResult(int number, Kind kind, String target, long size, String reason)
    implements Serializable {
  /** What can become of it. */
  public enum Kind {
    /** It stays as it is. */
    KEPT,
    /** Its bytes were copied under other names, or would be. */
    COPIED,
    /** It has to be read and written row by row. */
    TO_REWRITE,
    /** Nobody can read it. */
    UNREADABLE
  }

  /** A file that bytes alone are no help for. */
  public static FileResult toRewrite(int number, String reason) {
    return new FileResult(number, Kind.TO_REWRITE, null, 0, reason);
  }

  static FileResult unreadable(int number, String reason) {
    return new FileResult(number, Kind.UNREADABLE, null, 0, reason);
  }

  static FileResult of(int number, String target, DataFile.Outcome outcome) {
    return switch (outcome.way()) {
      case KEPT -> new FileResult(number, Kind.KEPT, null, outcome.length(), null);
      case COPIED -> new FileResult(number, Kind.COPIED, target, outcome.length(), null);
      case TO_REWRITE -> toRewrite(number, outcome.reason());
    };
  }
}
