// SPDX-License-Identifier: Apache-2.0
/**
 * Checks that Spark, Delta and our jars fit each other, before their classes are loaded.
 *
 * <p>This is Java, because the check reads the class path of the JVM in which a session starts.
 */
package sparkext.release;
