// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static java.util.stream.Collectors.groupingBy;
import static net.bytebuddy.matcher.ElementMatchers.named;

import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.lang.invoke.MethodHandles;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.agent.ByteBuddyAgent;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.implementation.bytecode.StackManipulation;
import net.bytebuddy.implementation.bytecode.member.FieldAccess;
import net.bytebuddy.implementation.bytecode.member.MethodVariableAccess;
import net.bytebuddy.pool.TypePool;
import sparkext.common.UsageTrackingErrors;

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

  /** Returns the hooks that this Delta needs. */
  List<DeltaHook> needed(List<DeltaHook> hooks) {
    return hooks.stream().filter(hook -> hook.isNeededIn().test(types)).toList();
  }

  /** Returns a sentence for each method and each field of the hooks that this Delta lacks. */
  List<String> mismatches(List<DeltaHook> hooks) {
    return hooks.stream()
        .flatMap(hook -> missing(hook).map(name -> "the " + name + " does not exist"))
        .toList();
  }

  private Stream<String> missing(DeltaHook hook) {
    HookedMethod method = hook.method();
    return method.isIn(types)
        ? hook.fields().stream()
            .filter(field -> !method.typeHasField(field, types))
            .map(field -> "field `" + field + "` of `" + method.typeName() + "`")
        : Stream.of("method `" + method + "`");
  }

  /**
   * Defines the woven types, or redefines those that Delta has loaded already.
   *
   * <p>Each type is woven once, with all its hooks: a loader accepts no second definition.
   */
  void weave(List<DeltaHook> hooks) throws ReflectiveOperationException {
    Map<String, List<DeltaHook>> byType =
        hooks.stream()
            .collect(
                groupingBy(
                    hook -> hook.method().typeName(), LinkedHashMap::new, Collectors.toList()));
    for (List<DeltaHook> ofOneType : byType.values()) {
      define(ofOneType.get(0).method(), woven(ofOneType));
    }
  }

  private void define(HookedMethod method, byte[] woven) throws ReflectiveOperationException {
    Class<?> neighbour = Class.forName(method.neighbourName(), false, loader);
    try {
      MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup()).defineClass(woven);
    } catch (LinkageError refused) {
      redefine(method.typeName(), woven, refused);
    }
  }

  /** Returns the class file of the one type of these hooks, with each advice in its method. */
  byte[] woven(List<DeltaHook> hooks) {
    TypeDescription target = types.describe(hooks.get(0).method().typeName()).resolve();
    DynamicType.Builder<?> type = new ByteBuddy().decorate(target, classFiles);
    for (DeltaHook hook : hooks) {
      TypeDescription advice = types.describe(hook.advice().getName()).resolve();
      type =
          type.visit(
              Advice.withCustomMapping()
                  .with(new Advice.AssignReturned.Factory())
                  .bind(HookAdvice.Key.class, hook.key())
                  .bind(HookAdvice.Fields.class, valuesOf(hook.fields()))
                  .to(advice, classFiles)
                  .on(hook.method().matcher()));
    }
    return type.make().getBytes();
  }

  /** Returns the mapping that reads fields of the woven type. */
  private static Advice.OffsetMapping valuesOf(List<String> names) {
    return (type, method, assigner, arguments, sort) ->
        new Advice.OffsetMapping.Target.ForArray.ReadOnly(
            TypeDescription.ForLoadedType.of(Object.class).asGenericType(),
            names.stream()
                .map(name -> type.getDeclaredFields().filter(named(name)).getOnly())
                .map(
                    field ->
                        new StackManipulation.Compound(
                            MethodVariableAccess.loadThis(), FieldAccess.forField(field).read()))
                .toList());
  }

  /**
   * Redefines a type only if the type is loaded already. A type whose definition failed for another
   * reason is not loaded unwoven.
   */
  private void redefine(String typeName, byte[] woven, LinkageError refused)
      throws ReflectiveOperationException {
    if (refused.getClass() != LinkageError.class) {
      // A second definition throws LinkageError itself, and not one of its subclasses.
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
