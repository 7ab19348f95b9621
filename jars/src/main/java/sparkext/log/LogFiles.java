// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;

/**
 * Files in the log's folder that differ in their version and size only; {@code LogFiles} of {@code
 * spark_ext/log/folder.py} documents each component.
 */
public record LogFiles(
    String kind,
    long numFiles,
    long sizeInBytes,
    Long version,
    Long under,
    List<String> schemas,
    List<List<String>> statistics,
    List<String> partitionColumns,
    List<String> folders,
    List<String> texts,
    String problem) {
  /**
   * Returns the key of the file's group: the components that its files share. If no schema is known
   * for texts, the key has their version, which shows whether they are older than every schema.
   */
  LogFiles common() {
    return of(0, 0, under == null && !texts.isEmpty() ? version : null);
  }

  /** Joins two groups of files that are alike. The result has the newer version. */
  LogFiles plus(LogFiles other) {
    return of(
        numFiles + other.numFiles,
        sizeInBytes + other.sizeInBytes,
        version == null || other.version == null
            ? version == null ? other.version : version
            : Long.valueOf(Math.max(version, other.version)));
  }

  private LogFiles of(long files, long size, Long newest) {
    return new LogFiles(
        kind,
        files,
        size,
        newest,
        under,
        schemas,
        statistics,
        partitionColumns,
        folders,
        texts,
        problem);
  }
}
