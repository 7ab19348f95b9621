// SPDX-License-Identifier: Apache-2.0
/**
 * The entry points that Spark, a running session and the jars of executors call first.
 *
 * <p>This is Java, because Spark loads an extension by its class name when a session starts.
 */
package sparkext;
