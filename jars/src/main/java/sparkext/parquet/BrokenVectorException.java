// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

/** A deletion vector that is not what the log says. */
public final class BrokenVectorException extends Exception {
  private static final long serialVersionUID = 1L;

  BrokenVectorException(String reason) {
    super(reason);
  }
}
