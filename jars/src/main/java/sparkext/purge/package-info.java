// SPDX-License-Identifier: Apache-2.0
/**
 * Purges dropped columns inside Delta's own command by copies of files.
 *
 * <p>Java, because it runs in Delta's call and its transaction. What becomes of a column is decided
 * in Python.
 */
package sparkext.purge;
