// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the JSON files that declare errors, settings and supported releases for Java and Python.
 * Describes the Spark jobs of all packages.
 *
 * <p>This is Java, because Spark reports the condition and the SQLSTATE of exceptions in the JVM,
 * and reads the description of a job from a thread of the JVM.
 */
package sparkext.common;
