// SPDX-License-Identifier: Apache-2.0
/**
 * Removes column mapping and purges dropped columns inside Delta's own commands, by byte copies of
 * files.
 *
 * <p>This is Java, because this package runs inside Delta's calls and transactions. Python decides
 * which columns are kept.
 */
package sparkext.removal;
