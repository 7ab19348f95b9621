// SPDX-License-Identifier: Apache-2.0
/**
 * The live files of a table, the places of their copies, and the log entries of the copies.
 *
 * <p>This is Java, because this package reads Delta's snapshot, and builds one action of Delta for
 * each file. This package also chooses between copies and Delta's rewrite, because this choice
 * decides whether the rule process starts.
 */
package sparkext.files;
