// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

/** A number of files and their size in bytes. */
public record FileCount(long numFiles, long sizeInBytes) {
  FileCount plus(LogFile file) {
    return new FileCount(numFiles + 1, sizeInBytes + file.length());
  }
}
