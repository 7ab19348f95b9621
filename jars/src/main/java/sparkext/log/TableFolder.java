// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

import java.util.List;
import sparkext.log.TableLog.FileCount;
import sparkext.log.TableLog.Moment;

/**
 * A table's folder, as seen from a moment. {@code TableFolder} of {@code spark_ext/log/actions.py}
 * documents each component.
 *
 * @param log the log, with the files outside of {@code _delta_log}
 */
public record TableFolder(
    TableLog log,
    Moment moment,
    List<String> otherTables,
    FileCount logFiles,
    FileCount olderLogFiles,
    List<String> unknownLogFiles,
    long tombstones,
    long olderTombstones,
    long cleanableFrom) {}
