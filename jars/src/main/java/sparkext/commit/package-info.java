// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the lines and actions of one commit as Delta reads them.
 *
 * <p>Java, because the check of stale plans reads commits inside a scan.
 */
package sparkext.commit;
