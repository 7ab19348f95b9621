// SPDX-License-Identifier: Apache-2.0
/**
 * Adapts Delta's own types: our table feature, changed metadata, the actions of a commit, and calls
 * that differ between releases.
 *
 * <p>Java, because Delta's list of features holds instances of Delta's own class, and a check of
 * stale plans reads commits inside a scan.
 */
package sparkext.delta;
