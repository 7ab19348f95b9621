// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

/** A data file that nobody can read. */
public class NotParquetException extends Exception {
  private static final long serialVersionUID = 1L;

  NotParquetException(String reason) {
    super(reason);
  }

  /** Thrift's own message may be as long as a footer, with values in it: it stays in the cause. */
  NotParquetException(String reason, Exception cause) {
    super(reason, cause);
  }
}
