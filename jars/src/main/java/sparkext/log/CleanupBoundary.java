// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

/**
 * A checkpoint that log cleanup may delete everything before, or the next one that there is.
 *
 * @param time when the newest file before it was modified, in milliseconds since the epoch
 */
public record CleanupBoundary(long version, long time) {}
