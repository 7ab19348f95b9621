// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

/** What removing column mapping does to each file of a table, as their footers tell. */
public record CountedFiles(Count kept, Count copied, Count rewritten) {
  /** How many files, and their size in bytes. */
  public record Count(long numFiles, long sizeInBytes) {
    /** Of no file. */
    public static final Count ZERO = new Count(0, 0);

    /** With one more. */
    public Count plus(long size) {
      return new Count(numFiles + 1, sizeInBytes + size);
    }
  }
}
