// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static java.util.Comparator.comparing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.apache.spark.sql.delta.UsageTrackingBridge;

/**
 * A jar of Delta that Maven copied, with the other classes of the class path. The Delta of the
 * class path is hidden.
 *
 * @param spark the minor release of Spark for which the jar was built
 * @param version the version of Delta
 */
public record DeltaJar(String spark, String version, Path file) {
  private static final Path FOLDER = Path.of("target", "delta");
  private static final Pattern NAME =
      Pattern.compile("delta-spark_([\\d.]+)_2\\.13-([\\d.]+)\\.jar");
  private static final String BRIDGE = UsageTrackingBridge.class.getName();
  private static final ClassLoader CLASS_PATH = DeltaJar.class.getClassLoader();

  /** Returns all jars that {@code pom.xml} lists. */
  public static List<DeltaJar> all() {
    try (Stream<Path> files = Files.list(FOLDER)) {
      return files.map(DeltaJar::of).sorted(comparing(DeltaJar::toString)).toList();
    } catch (IOException notCopied) {
      throw new UncheckedIOException("Run `make test-java`, which copies them", notCopied);
    }
  }

  private static DeltaJar of(Path file) {
    Matcher name = NAME.matcher(file.getFileName().toString());
    if (!name.matches()) {
      throw new IllegalStateException("No jar of Delta: " + file);
    }
    return new DeltaJar(name.group(1), name.group(2), file);
  }

  /** Returns whether Delta's jar contains a type, rather than our jar or delta-storage's. */
  public static boolean holds(String type) {
    return type.startsWith("org.apache.spark.sql.delta.") && !type.startsWith(BRIDGE)
        || type.startsWith("io.delta.") && !type.startsWith("io.delta.storage.");
  }

  /** Returns the class files of the jar and of the class path. */
  public ClassFileLocator classFiles() {
    try {
      return new ClassFileLocator.Compound(
          ClassFileLocator.ForJarFile.of(file.toFile()), Hiding.of(DeltaJar::holds));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** Returns a loader of the jar's classes, one of them from the given bytes. */
  public ClassLoader loaderWith(String type, byte[] classFile) {
    try {
      return new Loader(new URL[] {file.toUri().toURL()}, type, classFile);
    } catch (MalformedURLException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  @Override
  public String toString() {
    return "delta-spark " + version + " for Spark " + spark;
  }

  private static final class Loader extends URLClassLoader {
    private final String type;
    private final byte[] classFile;

    private Loader(URL[] jars, String type, byte[] classFile) {
      super(jars, CLASS_PATH);
      this.type = type;
      this.classFile = classFile;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!holds(name)) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded == null ? findClass(name) : loaded;
      }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      return name.equals(type)
          ? defineClass(name, classFile, 0, classFile.length)
          : super.findClass(name);
    }
  }
}
