// SPDX-License-Identifier: Apache-2.0
/**
 * The live files of a table, the places of their copies, and the log entries of the copies.
 *
 * <p>Java, because it reads Delta's snapshot and builds Delta's actions, one for each file. The
 * choice between copies and Delta's rewrite is made here, since it decides whether the rule process
 * starts at all.
 */
package sparkext.files;
