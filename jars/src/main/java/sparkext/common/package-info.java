// SPDX-License-Identifier: Apache-2.0
/**
 * Reads what both halves declare in JSON files: errors, settings and supported releases. Names the
 * Spark jobs of all rooms.
 *
 * <p>This is Java, because Spark reports the condition and the SQLSTATE of an exception of the JVM,
 * and names jobs by properties of a thread of the JVM.
 */
package sparkext.common;
