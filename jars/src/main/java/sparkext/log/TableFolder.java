// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;

/**
 * A table's folder, and the columns of which its files may contain data.
 *
 * @param log its files are those outside of {@code _delta_log}
 * @param logFiles those in {@code _delta_log}
 * @param boundaries by version
 * @param starts the versions at which the known history may begin, with their times
 */
public record TableFolder(
    TableLog log,
    List<LogFiles> logFiles,
    List<CleanupBoundary> boundaries,
    List<TableLog.Commit> starts) {}
