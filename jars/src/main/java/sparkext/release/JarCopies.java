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
import sparkext.error.UsageTrackingErrors;

/**
 * Refuses two jars of ours with other content on one class path: some classes would be of one, and
 * those that it lacks of the other. Copies of the same jar are one.
 *
 * <p>{@code spark.jars} are in a child of the loader that has {@code spark.driver.extraClassPath}
 * and Spark's own jars. What both have is loaded by the parent, which does not see the child's.
 */
public final class JarCopies {
  private static final String OURS = "sparkext/UsageTrackingExtension.class";

  private JarCopies() {}

  /**
   * Returns where all copies are alike.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_SEVERAL_JARS
   */
  public static void requireAlike() throws IOException {
    // By their text: a URL's own equality asks name servers.
    Set<String> places = new LinkedHashSet<>();
    addPlaces(JarCopies.class.getClassLoader(), places);
    addPlaces(Thread.currentThread().getContextClassLoader(), places);
    if (places.size() > 1) {
      requireAlike(places);
    }
  }

  private static void addPlaces(ClassLoader loader, Set<String> places) throws IOException {
    if (loader == null) {
      return; // a thread need not have one
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
