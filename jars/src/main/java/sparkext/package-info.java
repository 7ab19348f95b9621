// SPDX-License-Identifier: Apache-2.0
/**
 * Where Spark, a running session and the jars of executors call this jar first.
 *
 * <p>Java, because Spark loads an extension by its class name when a session starts.
 */
package sparkext;
