// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

/** Thrown if a data file or the file of a deletion vector does not exist. */
public final class MissingFileException extends UnreadableFileException {
  private static final long serialVersionUID = 1L;

  MissingFileException() {
    super("it does not exist");
  }
}
