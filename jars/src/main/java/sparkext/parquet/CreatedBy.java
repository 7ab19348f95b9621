// SPDX-License-Identifier: Apache-2.0
package sparkext.parquet;

import org.apache.parquet.SemanticVersion;
import org.apache.parquet.VersionParser;
import org.apache.parquet.VersionParser.ParsedVersion;
import org.apache.parquet.VersionParser.VersionParseException;

/** Reads {@code created_by}, the writer's own name and version in a footer. */
final class CreatedBy {
  private static final String PARQUET_MR = "parquet-mr";
  private static final SemanticVersion KNOWS_ITS_SIZES = new SemanticVersion(1, 2, 9);

  private CreatedBy() {}

  /**
   * Throws if the writer may be parquet-mr before 1.2.9, which left the header of the dictionary
   * page out of a chunk's size: such a chunk cannot be cut out of its file.
   *
   * <p>Source: Parquet, PARQUET-816; Arrow, metadata.cc, {@code PARQUET_816_FIXED_VERSION}.
   *
   * @param writer null if the footer does not name one
   */
  static void requireWholeChunks(String writer) throws NotCopiedException {
    if (writer != null && mayLackHeaders(writer)) {
      throw new NotCopiedException("`" + writer + "` did not know how long its columns are");
    }
  }

  /** Photon and Trino have names that begin with parquet-mr's, and versions of their own. */
  private static boolean mayLackHeaders(String writer) {
    try {
      ParsedVersion parsed = VersionParser.parse(writer);
      return parsed.application.equals(PARQUET_MR)
          && !(parsed.hasSemanticVersion()
              && parsed.getSemanticVersion().compareTo(KNOWS_ITS_SIZES) >= 0);
    } catch (VersionParseException withoutVersion) {
      return writer.startsWith(PARQUET_MR);
    }
  }
}
