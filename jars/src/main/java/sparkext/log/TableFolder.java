// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;

/**
 * The files in a table's folder, and the names of the columns whose data they may contain.
 *
 * @param log the log, with the files outside of {@code _delta_log}
 * @param logFiles the files in {@code _delta_log}
 * @param boundaries the boundaries of log cleanup, in the order of their versions
 * @param starts the commits and checkpoints at which the known history may begin, each with its
 *     version, time and {@code commitInfo} only
 */
public record TableFolder(
    TableLog log,
    List<LogFiles> logFiles,
    List<CleanupBoundary> boundaries,
    List<TableLog.Commit> starts) {}
