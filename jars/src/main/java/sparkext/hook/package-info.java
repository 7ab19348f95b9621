// SPDX-License-Identifier: Apache-2.0
/**
 * Hooks: lists the methods of Delta that spark-ext changes, and adds advice to these methods.
 *
 * <p>This is Java, because advice runs inside Delta's calls.
 */
package sparkext.hook;
