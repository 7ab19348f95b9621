// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;

/**
 * Files in the log's folder that are alike but for their number and version; {@code LogFiles} of
 * {@code spark_ext/log/places.py} says what each component means.
 */
public record LogFiles(
    String kind,
    long numFiles,
    Long version,
    Long under,
    List<String> schemas,
    List<List<String>> statistics,
    List<String> partitionColumns,
    List<String> folders,
    List<String> texts,
    String problem) {
  /**
   * What those that are alike have in common. Whether a text is older than every schema that is
   * known is told by its version.
   */
  LogFiles common() {
    return of(0, under == null && !texts.isEmpty() ? version : null);
  }

  /** One group of two that are alike; the newer version is that of both. */
  LogFiles plus(LogFiles other) {
    return of(
        numFiles + other.numFiles,
        version == null || other.version == null
            ? version == null ? other.version : version
            : Long.valueOf(Math.max(version, other.version)));
  }

  private LogFiles of(long files, Long newest) {
    return new LogFiles(
        kind, files, newest, under, schemas, statistics, partitionColumns, folders, texts, problem);
  }
}
