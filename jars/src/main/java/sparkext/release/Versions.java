// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/**
 * Reads the versions of Spark, Scala, Delta and our jar by reflection, because they may not fit.
 */
public final class Versions {
  static final String UNKNOWN = "(unknown version)";

  /** The file with the version that Maven writes into every jar. */
  static final String DESCRIPTION = "META-INF/maven/io.sparkext/spark-ext/pom.properties";

  private static final ClassLoader LOADER = Versions.class.getClassLoader();

  private Versions() {}

  /** Returns the version of Spark, such as 4.2.0. */
  public static String spark() {
    return read("org.apache.spark.package$", "SPARK_VERSION");
  }

  /** Returns the version of the Scala library, such as 2.13.18. */
  public static String scala() {
    return read("scala.util.Properties$", "versionNumberString");
  }

  /** Returns the version of Delta, if it has one. */
  public static String delta() {
    return read("io.delta.package$", "VERSION");
  }

  /** Returns the version of our jar; `spark_ext.__version__` is the Python package's. */
  public static String ours() {
    try (InputStream description = Versions.class.getResourceAsStream("/" + DESCRIPTION)) {
      return version(description);
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  static String version(InputStream description) throws IOException {
    if (description == null) {
      return UNKNOWN;
    }
    Properties properties = new Properties();
    properties.load(description);
    return properties.getProperty("version", UNKNOWN);
  }

  private static String read(String scalaObject, String method) {
    try {
      Class<?> type = Class.forName(scalaObject, true, LOADER);
      return (String) type.getMethod(method).invoke(type.getField("MODULE$").get(null));
    } catch (ReflectiveOperationException | LinkageError unknown) {
      return UNKNOWN;
    }
  }
}
