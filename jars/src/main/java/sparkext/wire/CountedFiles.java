// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

/** The files that a removal of column mapping keeps, copies and rewrites, by their footers. */
public record CountedFiles(Count kept, Count copied, Count rewritten) {
  /** A number of files and their size in bytes. */
  public record Count(long numFiles, long sizeInBytes) {
    /** The count of no file. */
    public static final Count ZERO = new Count(0, 0);

    /** Returns this count with one more file. */
    public Count plus(long size) {
      return new Count(numFiles + 1, sizeInBytes + size);
    }
  }
}
