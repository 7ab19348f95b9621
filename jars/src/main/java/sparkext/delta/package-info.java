// SPDX-License-Identifier: Apache-2.0
/**
 * Adapts Delta's own types: our table feature, changed metadata, the actions of a commit, and calls
 * that differ between releases.
 *
 * <p>This is Java, because Delta's list of features contains instances of Delta's class, and a
 * check of stale plans reads commits inside a scan.
 */
package sparkext.delta;
