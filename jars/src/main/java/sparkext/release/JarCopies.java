// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.jar.JarFile;
import java.util.zip.ZipEntry;
import sparkext.common.UsageTrackingErrors;

/**
 * Refuses two different jars of ours on one class path: the JVM would load some classes from the
 * first and the others from the second. Copies of the same jar are accepted.
 *
 * <p>{@code spark.jars} are in a child of the class loader that has {@code
 * spark.driver.extraClassPath} and Spark's own jars. The parent loads a class that both have, and
 * finds no class of the child.
 */
public final class JarCopies {
  private static final String OURS = "sparkext/UsageTrackingExtension.class";

  private JarCopies() {}

  /**
   * Returns normally if all copies are alike.
   *
   * @throws sparkext.common.UsageTrackingException USAGE_TRACKING_SEVERAL_JARS
   */
  public static void requireAlike() throws IOException {
    // Texts, because the equality of URLs queries name servers.
    Set<String> places = new LinkedHashSet<>();
    addPlaces(JarCopies.class.getClassLoader(), places);
    addPlaces(Thread.currentThread().getContextClassLoader(), places);
    if (places.size() > 1) {
      requireAlike(places);
    }
  }

  private static void addPlaces(ClassLoader loader, Set<String> places) throws IOException {
    if (loader == null) {
      return; // A thread may have no context class loader.
    }
    for (URL place : Collections.list(loader.getResources(OURS))) {
      places.add(place.toExternalForm());
    }
  }

  private static void requireAlike(Set<String> places) throws IOException {
    List<String> described = new ArrayList<>();
    Set<Object> contents = new HashSet<>();
    for (String place : places) {
      if (new URL(place).openConnection() instanceof JarURLConnection connection) {
        connection.setUseCaches(false);
        try (JarFile jar = connection.getJarFile()) {
          contents.add(content(jar));
          described.add(jar.getName() + " (" + version(jar) + ")");
        }
      } else {
        contents.add(place);
        described.add(place);
      }
    }
    if (contents.size() > 1) {
      throw UsageTrackingErrors.severalJars(described).sneakyThrow();
    }
  }

  private static Set<String> content(JarFile jar) {
    Set<String> entries = new HashSet<>();
    jar.stream().forEach(entry -> entries.add(entry.getName() + " " + entry.getCrc()));
    return entries;
  }

  private static String version(JarFile jar) throws IOException {
    ZipEntry description = jar.getEntry(Versions.DESCRIPTION);
    if (description == null) {
      return Versions.UNKNOWN;
    }
    try (InputStream content = jar.getInputStream(description)) {
      return Versions.version(content);
    }
  }
}
