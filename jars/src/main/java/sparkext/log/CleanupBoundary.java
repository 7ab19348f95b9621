// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

/**
 * A version before which log cleanup may delete all files of the log.
 *
 * @param version the version of a checkpoint; or the version after the table's last version, at
 *     which the table may write its next checkpoint
 * @param time the latest modification of a file of the log before this version, in milliseconds
 *     since the epoch
 */
public record CleanupBoundary(long version, long time) {}
