// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

/**
 * A checkpoint before which log cleanup may delete everything, or the next checkpoint that the
 * table may write.
 *
 * @param time of the newest file before it, in milliseconds since the epoch
 */
public record CleanupBoundary(long version, long time) {}
