// SPDX-License-Identifier: Apache-2.0
/**
 * The entry points that Spark or a running session calls first, and the jars of executors.
 *
 * <p>This is Java, because Spark loads an extension by its class name when a session starts.
 */
package sparkext;
