// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;

/**
 * All that lies in a table's folder, as far as it says something of columns.
 *
 * @param files those outside of the log
 * @param logFiles those in its folder
 * @param boundaries by version
 */
public record FolderPlaces(
    List<DataFiles> files, List<LogFiles> logFiles, List<CleanupBoundary> boundaries) {}
