// SPDX-License-Identifier: Apache-2.0
package sparkext.release;

import static net.bytebuddy.matcher.ElementMatchers.hasDescriptor;
import static net.bytebuddy.matcher.ElementMatchers.isAbstract;
import static net.bytebuddy.matcher.ElementMatchers.named;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDefinition;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.scaffold.MethodGraph;
import net.bytebuddy.pool.TypePool;

/**
 * Whether compiled classes of ours find in other jars than those they were compiled against what
 * their code names. The JVM asks late, at the first call, so that a test would have to take every
 * path to see it.
 */
final class Linkage {
  private final TypePool types;
  private final Predicate<String> isChecked;

  /**
   * @param classFiles where all is looked up, the classes of ours too
   * @param isChecked says of the binary name of a type whether what it declares is looked up
   */
  Linkage(ClassFileLocator classFiles, Predicate<String> isChecked) {
    this.types = TypePool.Default.of(classFiles);
    this.isChecked = isChecked;
  }

  /** The class files under a folder. */
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

  /** The class files in a jar. */
  static List<byte[]> classFilesOf(Path jar) throws IOException {
    try (FileSystem inside = FileSystems.newFileSystem(jar)) {
      return classFiles(inside.getPath("/"));
    }
  }

  /** The binary names of the classes under a folder. */
  static List<String> names(Path folder) {
    try (Stream<Path> files = Files.walk(folder)) {
      return files
          .map(file -> folder.relativize(file).toString())
          .filter(file -> file.endsWith(".class"))
          .map(file -> file.substring(0, file.length() - ".class".length()))
          .map(file -> file.replace(File.separatorChar, '.'))
          .toList();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** How many members of other jars the classes name. */
  long checkedMembers(List<byte[]> ours) {
    return ours.stream()
        .flatMap(file -> References.of(file).members().stream())
        .filter(member -> isChecked.test(member.owner()))
        .distinct()
        .count();
  }

  /** A line for each type and member that is not there, or is another kind of thing. */
  List<String> broken(List<byte[]> ours) {
    return ours.stream().flatMap(this::broken).distinct().sorted().toList();
  }

  /** The types that are not there. */
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
            .filter(member -> !isThere(member))
            .map(References.Member::toString);
    return Stream.concat(missing(references), members);
  }

  /** A line for each abstract method of a class of ours, which a newer supertype may have added. */
  List<String> unimplemented(List<String> ours) {
    return ours.stream()
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

  private boolean isThere(References.Member member) {
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
      return method.isStatic() == member.isStatic() && !method.isPrivate();
    }
    // What a constructor or a private method of a supertype is, no subtype has.
    return !member.name().equals(MethodDescription.CONSTRUCTOR_INTERNAL_NAME)
        && supertypes(type).anyMatch(parent -> isMethodOf(parent, member));
  }

  private boolean isFieldOf(TypeDescription type, References.Member member) {
    return type
            .getDeclaredFields()
            .filter(named(member.name()).and(hasDescriptor(member.descriptor())))
            .stream()
            .anyMatch(field -> field.isStatic() == member.isStatic() && !field.isPrivate())
        || supertypes(type).anyMatch(parent -> isFieldOf(parent, member));
  }

  private static Stream<TypeDescription> supertypes(TypeDescription type) {
    return Stream.concat(Stream.ofNullable(type.getSuperClass()), type.getInterfaces().stream())
        .map(TypeDefinition::asErasure);
  }
}
