// SPDX-License-Identifier: Apache-2.0
/**
 * Reads what both halves declare in JSON files: conditions with the one exception, releases, and
 * settings.
 *
 * <p>Java, because Spark reports the condition and the SQLSTATE of an exception of the JVM.
 */
package sparkext.error;
