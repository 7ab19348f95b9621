// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import java.lang.instrument.ClassDefinition;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.invoke.MethodHandles;
import java.util.List;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.pool.TypePool;

/** Weaves advice into class files, from descriptions only: no class is loaded to be described. */
final class HookWeaver {
  private final ClassFileLocator classFiles;
  private final TypePool types;
  private final ClassLoader loader;

  /**
   * @param classFiles finds the class files of Delta and of the advice
   * @param loader defines the woven types
   */
  HookWeaver(ClassFileLocator classFiles, ClassLoader loader) {
    this.classFiles = classFiles;
    this.types = TypePool.Default.of(classFiles);
    this.loader = loader;
  }

  /** One sentence for each hook that does not match exactly one method. */
  List<String> mismatches(List<DeltaHook> hooks) {
    return hooks.stream()
        .filter(hook -> matches(hook) != 1)
        .map(
            hook ->
                hook.getClass().getSimpleName()
                    + " matches "
                    + matches(hook)
                    + " methods of "
                    + hook.typeName())
        .toList();
  }

  private int matches(DeltaHook hook) {
    TypePool.Resolution type = types.describe(hook.typeName());
    return type.isResolved() ? type.resolve().getDeclaredMethods().filter(hook.method()).size() : 0;
  }

  /** Defines the woven type, or redefines it where Delta has loaded it already. */
  void weave(DeltaHook hook) throws ReflectiveOperationException {
    byte[] woven = woven(hook);
    Class<?> neighbour = Class.forName(hook.neighbourName(), false, loader);
    try {
      MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup()).defineClass(woven);
    } catch (LinkageError loadedAlready) {
      redefine(Class.forName(hook.typeName(), false, loader), woven);
    }
  }

  /** The class file of the hook's type with the advice in its method. */
  byte[] woven(DeltaHook hook) {
    TypeDescription target = types.describe(hook.typeName()).resolve();
    TypeDescription advice = types.describe(hook.adviceName()).resolve();
    return new ByteBuddy()
        .decorate(target, classFiles)
        .visit(
            Advice.withCustomMapping()
                .with(new Advice.AssignReturned.Factory())
                .to(advice, classFiles)
                .on(hook.method()))
        .make()
        .getBytes();
  }

  private static void redefine(Class<?> loaded, byte[] woven) throws ReflectiveOperationException {
    try {
      ByteBuddyAgent.install().redefineClasses(new ClassDefinition(loaded, woven));
    } catch (UnmodifiableClassException | IllegalStateException refused) {
      throw new ReflectiveOperationException(
          loaded.getName()
              + " was loaded before sparkext.UsageTrackingExtension and this JVM allows no change of"
              + " it; name the extension in spark.sql.extensions when the JVM starts",
          refused);
    }
  }
}
