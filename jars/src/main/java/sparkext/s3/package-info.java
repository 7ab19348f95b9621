// SPDX-License-Identifier: Apache-2.0
/**
 * Uploads whose parts an object store copies on its own side.
 *
 * <p>This is Java, because tasks on executors call S3A's client.
 */
package sparkext.s3;
