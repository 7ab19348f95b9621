// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static net.bytebuddy.matcher.ElementMatchers.hasDescriptor;
import static net.bytebuddy.matcher.ElementMatchers.isAbstract;
import static net.bytebuddy.matcher.ElementMatchers.named;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.JarURLConnection;
import java.net.URI;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Predicate;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDefinition;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.scaffold.MethodGraph;
import net.bytebuddy.jar.asm.ClassReader;
import net.bytebuddy.pool.TypePool;

/**
 * Looks up the types and members that our classes name, in the jars of this class path.
 *
 * <p>The JVM links a member at its first call. Without this check, a statement could fail at a
 * missing member after some of its work. Tests check the supported pairs, so a session checks
 * others only, such as a vendor's build: the check takes seconds.
 */
public final class Linkage {
  private static final String OURS = "sparkext/UsageTrackingExtension.class";

  /** Our classes that adapt to a release, and name members that other releases lack. */
  private static final List<String> ADAPTING =
      List.of("sparkext/delta/DeltaShims", "sparkext/delta/NothingToPrepare");

  /** Our classes whose supertypes Spark does not contain. */
  private static final List<String> OPTIONAL = List.of("sparkext/s3/");

  /** Types of our jar and the JVM, Delta's own dependencies, and types that Spark lacks. */
  private static final List<String> UNCHECKED =
      List.of(
          "java.",
          "javax.",
          "sparkext.",
          "net.bytebuddy.",
          "org.apache.parquet.format.",
          "shaded.parquet.",
          "io.delta.storage.",
          "org.apache.hadoop.fs.s3a.",
          "software.amazon.awssdk.",
          "org.apache.spark.sql.delta.UsageTrackingBridge");

  private final TypePool types;
  private final Predicate<String> isChecked;

  /**
   * @param classFiles finds the class files of all types, including ours
   * @param isChecked returns for the binary name of a type whether its members are looked up
   */
  Linkage(ClassFileLocator classFiles, Predicate<String> isChecked) {
    this.types = TypePool.Default.of(classFiles);
    this.isChecked = isChecked;
  }

  /**
   * Returns a sentence for each type or member that the class path lacks, and for each abstract
   * method that our classes do not implement.
   *
   * @param classFiles finds the class files of our jar, Delta and Spark
   */
  public static List<String> misfits(ClassFileLocator classFiles) throws IOException {
    Linkage linkage = new Linkage(classFiles, Linkage::isOfSparkOrDelta);
    List<byte[]> ours = ours().stream().filter(file -> !adapts(file)).toList();
    List<byte[]> needed = ours.stream().filter(file -> !isOneOf(OPTIONAL, file)).toList();
    return Stream.concat(
            linkage.broken(ours).stream().map(name -> "`" + name + "` is missing"),
            linkage.unimplemented(needed).stream())
        .toList();
  }

  /** Returns whether Spark or Delta contains a type. */
  static boolean isOfSparkOrDelta(String type) {
    return UNCHECKED.stream().noneMatch(type::startsWith);
  }

  /** Returns whether a class file of ours may name members that some release lacks. */
  static boolean adapts(byte[] classFile) {
    return isOneOf(ADAPTING, classFile);
  }

  private static boolean isOneOf(List<String> names, byte[] classFile) {
    String name = new ClassReader(classFile).getClassName();
    return names.stream().anyMatch(name::startsWith);
  }

  /** Returns our class files from the place of this class: a jar or, in tests, a folder. */
  private static List<byte[]> ours() throws IOException {
    URL place = Linkage.class.getClassLoader().getResource(OURS);
    if (place.openConnection() instanceof JarURLConnection connection) {
      connection.setUseCaches(false);
      try (JarFile jar = connection.getJarFile()) {
        return ours(jar);
      }
    }
    return classFiles(Path.of(URI.create(place.toExternalForm())).getParent());
  }

  private static List<byte[]> ours(JarFile jar) throws IOException {
    List<byte[]> found = new ArrayList<>();
    for (JarEntry entry : Collections.list(jar.entries())) {
      String name = entry.getName();
      if (name.matches("sparkext/(?!shaded/).+\\.class")) {
        found.add(jar.getInputStream(entry).readAllBytes());
      }
    }
    return found;
  }

  /** Returns the class files under a folder. */
  static List<byte[]> classFiles(Path folder) {
    try (Stream<Path> files = Files.walk(folder)) {
      List<byte[]> found = new ArrayList<>();
      for (Path file : files.filter(path -> path.toString().endsWith(".class")).toList()) {
        found.add(Files.readAllBytes(file));
      }
      return found;
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** Returns how many members of other jars the classes name. */
  long checkedMembers(List<byte[]> ours) {
    return ours.stream()
        .flatMap(file -> References.of(file).members().stream())
        .filter(member -> isChecked.test(member.owner()))
        .distinct()
        .count();
  }

  /** Returns a line for each type and member that is missing, or is of another kind. */
  List<String> broken(List<byte[]> ours) {
    return ours.stream().flatMap(this::broken).distinct().sorted().toList();
  }

  /** Returns the missing types. */
  List<String> missing(List<byte[]> files) {
    return files.stream().map(References::of).flatMap(this::missing).distinct().sorted().toList();
  }

  private Stream<String> missing(References references) {
    return references.types().stream()
        .filter(isChecked)
        .filter(type -> !types.describe(type).isResolved());
  }

  private Stream<String> broken(byte[] file) {
    References references = References.of(file);
    Stream<String> members =
        references.members().stream()
            .filter(member -> isChecked.test(member.owner()))
            .filter(member -> !exists(member))
            .map(References.Member::toString);
    return Stream.concat(missing(references), members);
  }

  /**
   * Returns a line for each abstract method that a supertype has and our class does not implement.
   */
  List<String> unimplemented(List<byte[]> ours) {
    return ours.stream()
        .map(file -> new ClassReader(file).getClassName().replace('/', '.'))
        .map(name -> types.describe(name).resolve())
        .filter(type -> !type.isAbstract() && !type.isInterface())
        .flatMap(
            type ->
                MethodGraph.Compiler.DEFAULT
                    .compile((TypeDefinition) type)
                    .listNodes()
                    .asMethodList()
                    .filter(isAbstract())
                    .stream()
                    .map(method -> type.getName() + " lacks " + method))
        .toList();
  }

  private boolean exists(References.Member member) {
    TypePool.Resolution owner = types.describe(member.owner());
    if (!owner.isResolved()) {
      return false;
    }
    TypeDescription type = owner.resolve();
    return (!member.isMethod() || type.isInterface() == member.ofInterface())
        && (member.isMethod() ? isMethodOf(type, member) : isFieldOf(type, member));
  }

  private boolean isMethodOf(TypeDescription type, References.Member member) {
    for (MethodDescription method :
        type.getDeclaredMethods()
            .filter(hasDescriptor(member.descriptor()))
            .filter(one -> one.getInternalName().equals(member.name()))) {
      return !method.isPrivate();
    }
    // A subtype does not inherit constructors or private methods.
    return !member.name().equals(MethodDescription.CONSTRUCTOR_INTERNAL_NAME)
        && supertypes(type).anyMatch(parent -> isMethodOf(parent, member));
  }

  private boolean isFieldOf(TypeDescription type, References.Member member) {
    return type
            .getDeclaredFields()
            .filter(named(member.name()).and(hasDescriptor(member.descriptor())))
            .stream()
            .anyMatch(field -> !field.isPrivate())
        || supertypes(type).anyMatch(parent -> isFieldOf(parent, member));
  }

  private static Stream<TypeDescription> supertypes(TypeDescription type) {
    return Stream.concat(Stream.ofNullable(type.getSuperClass()), type.getInterfaces().stream())
        .map(TypeDefinition::asErasure);
  }
}
