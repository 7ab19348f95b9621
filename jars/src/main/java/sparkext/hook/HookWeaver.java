// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static java.util.stream.Collectors.groupingBy;

import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.pool.TypePool;
import sparkext.error.UsageTrackingErrors;

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

  /** Those that this Delta needs. */
  List<DeltaHook> needed(List<DeltaHook> hooks) {
    return hooks.stream().filter(hook -> hook.isNeededIn(types, classFiles)).toList();
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
                    + hook.typeName()
                    + " by "
                    + hook.method())
        .toList();
  }

  private int matches(DeltaHook hook) {
    return DeltaHook.methods(types, hook.typeName()).filter(hook.method()).size();
  }

  /**
   * Defines the woven types, or redefines those that Delta has loaded already.
   *
   * <p>Each type once, with all its hooks: a loader takes no second definition.
   */
  void weave(List<DeltaHook> hooks) throws ReflectiveOperationException {
    Map<String, List<DeltaHook>> byType =
        hooks.stream()
            .collect(groupingBy(DeltaHook::typeName, LinkedHashMap::new, Collectors.toList()));
    for (List<DeltaHook> ofOneType : byType.values()) {
      define(ofOneType.get(0), woven(ofOneType));
    }
  }

  private void define(DeltaHook hook, byte[] woven) throws ReflectiveOperationException {
    Class<?> neighbour = Class.forName(hook.neighbourName(), false, loader);
    try {
      MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup()).defineClass(woven);
    } catch (LinkageError refused) {
      redefine(hook.typeName(), woven, refused);
    }
  }

  /** The class file of the one type of these hooks with each advice in its method. */
  byte[] woven(List<DeltaHook> hooks) {
    TypeDescription target = types.describe(hooks.get(0).typeName()).resolve();
    DynamicType.Builder<?> type = new ByteBuddy().decorate(target, classFiles);
    for (DeltaHook hook : hooks) {
      TypeDescription advice = types.describe(hook.adviceName()).resolve();
      type =
          type.visit(
              Advice.withCustomMapping()
                  .with(new Advice.AssignReturned.Factory())
                  .to(advice, classFiles)
                  .on(hook.method()));
    }
    return type.make().getBytes();
  }

  /** Only a type that is loaded: it is not loaded unwoven for what else refuses a definition. */
  private void redefine(String typeName, byte[] woven, LinkageError refused)
      throws ReflectiveOperationException {
    if (refused.getClass() != LinkageError.class) {
      // A second definition is a LinkageError itself, not one of its kinds.
      throw refused;
    }
    try {
      Instrumentation jvm = ByteBuddyAgent.install();
      Class<?> loaded =
          Arrays.stream(jvm.getAllLoadedClasses())
              .filter(type -> type.getName().equals(typeName) && type.getClassLoader() == loader)
              .findAny()
              .orElseThrow(() -> refused);
      jvm.redefineClasses(new ClassDefinition(loaded, woven));
    } catch (UnmodifiableClassException | IllegalStateException unchangeable) {
      throw UsageTrackingErrors.deltaAlreadyLoaded(typeName, unchangeable).sneakyThrow();
    }
  }
}
