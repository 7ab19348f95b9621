// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

/** A data file that is not there. */
public final class MissingFileException extends NotParquetException {
  private static final long serialVersionUID = 1L;

  static final String REASON = "it does not exist";

  MissingFileException() {
    super(REASON);
  }
}
