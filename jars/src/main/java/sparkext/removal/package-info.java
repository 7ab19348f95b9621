// SPDX-License-Identifier: Apache-2.0
/**
 * Removes column mapping inside Delta's own command: copies files, and commits once.
 *
 * <p>Java, because it runs in Delta's call and its transaction. What becomes of a column is decided
 * in Python.
 */
package sparkext.removal;
