// SPDX-License-Identifier: Apache-2.0
package sparkext.log;

/** A version of a table, and its time in milliseconds since the epoch. */
public record Moment(long version, long time) {}
