// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

/** Thrown if this JVM has no file system class for a path, or the class fails to start. */
final class UnknownStorageException extends UnreadableFileException {
  private static final long serialVersionUID = 1L;

  UnknownStorageException(Throwable cause) {
    super("its storage is unknown: " + cause, cause);
  }
}
