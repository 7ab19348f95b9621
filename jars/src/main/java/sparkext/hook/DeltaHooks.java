// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.common.Releases;
import sparkext.common.UsageTrackingErrors;
import sparkext.delta.UsageTrackingFeature;
import sparkext.hook.DeltaHook.HookCall;
import sparkext.release.DeltaRelease;
import sparkext.release.Linkage;
import sparkext.release.Versions;

/** All hooks, and their one-time installation into the Delta of a JVM. */
public final class DeltaHooks {
  static final List<DeltaHook> ALL =
      Stream.of(
              TrackingHooks.ALL,
              RemovalHooks.ALL,
              PurgeHooks.ALL,
              StalePlanHooks.ALL,
              ReusedNameHooks.ALL,
              StreamHooks.ALL,
              StaleStatementHooks.ALL)
          .flatMap(List::stream)
          .toList();

  static final String BRIDGE = "org.apache.spark.sql.delta.UsageTrackingBridge";

  private static final Logger LOG = LoggerFactory.getLogger(DeltaHooks.class);

  private DeltaHooks() {}

  /**
   * Weaves every hook and sets the callbacks of the bridge. Later calls do nothing.
   *
   * <p>All hooks, and on an untested release all that our classes call, are compared with Delta's
   * and Spark's class files before the first hook is woven. The bridge has no callbacks until the
   * last hook is woven, so no session has only some of the hooks.
   *
   * @throws sparkext.common.UsageTrackingException USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION;
   *     USAGE_TRACKING_DELTA_ALREADY_LOADED
   */
  public static synchronized void install() {
    try {
      installInto(neighbour());
    } catch (LinkageError | ReflectiveOperationException | IOException error) {
      throw UsageTrackingErrors.unsupportedDeltaVersion(
              Versions.delta(), List.of(error.toString()), error)
          .sneakyThrow();
    }
  }

  /**
   * Throws if the class path has no Delta.
   *
   * @throws sparkext.common.UsageTrackingException USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION
   */
  public static void requireDelta() {
    neighbour();
  }

  /**
   * Returns true, with a warning, if this Delta has a feature {@code columnMappingUsageTracking}
   * itself. Then Delta's rules apply, and no hook is installed.
   */
  public static boolean standAside() {
    try {
      Optional<String> own =
          DeltaRelease.ownFeature(classFiles(neighbour()), UsageTrackingFeature.NAME);
      own.ifPresent(
          type ->
              LOG.warn(
                  "delta-spark {} has the feature {} itself ({}): sparkext.UsageTrackingExtension"
                      + " does nothing. Remove it from spark.sql.extensions.",
                  Versions.delta(),
                  UsageTrackingFeature.NAME,
                  type));
      return own.isPresent();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  /** Finds our class files and Delta's. The two may have one loader. */
  private static ClassFileLocator classFiles(Class<?> neighbour) {
    return new ClassFileLocator.Compound(
        ClassFileLocator.ForClassLoader.of(DeltaHooks.class.getClassLoader()),
        ClassFileLocator.ForClassLoader.of(neighbour.getClassLoader()));
  }

  private static void installInto(Class<?> neighbour)
      throws ReflectiveOperationException, IOException {
    MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(neighbour, MethodHandles.lookup());
    ClassFileLocator classFiles = classFiles(neighbour);
    Class<?> bridge = bridge(neighbour, lookup, classFiles);
    Field callbacks = bridge.getField("callbacks");
    synchronized (bridge) {
      if (!((Map<?, ?>) callbacks.get(null)).isEmpty()) {
        return;
      }
      HookWeaver weaver = new HookWeaver(classFiles, neighbour.getClassLoader());
      List<DeltaHook> needed = weaver.needed(ALL);
      List<String> mismatches = new ArrayList<>(weaver.mismatches(needed));
      if (!isTested()) {
        mismatches.addAll(Linkage.misfits(classFiles));
      }
      if (!mismatches.isEmpty()) {
        throw UsageTrackingErrors.unsupportedDeltaVersion(Versions.delta(), mismatches, null)
            .sneakyThrow();
      }
      weaver.weave(needed);
      // This precedes the callbacks, because a running session may use the feature as soon as Delta
      // knows it. It follows the weaving, because it loads Delta's configuration and perhaps a
      // woven type.
      UsageTrackingFeature.registerFlag();
      callbacks.set(null, callbacks(needed));
      warnIfUntested(Versions.delta());
    }
  }

  /** Returns the callbacks by the keys of their hooks. Two hooks with one key are an error. */
  private static Map<String, Function<Object[], Object>> callbacks(List<DeltaHook> hooks) {
    return hooks.stream()
        .collect(
            Collectors.toUnmodifiableMap(
                DeltaHook::key, hook -> call -> hook.callback().apply(HookCall.of(call))));
  }

  private static boolean isTested() {
    return Releases.TESTED_SPARKS.contains(Versions.spark())
        && DeltaRelease.isTested(Versions.delta());
  }

  private static void warnIfUntested(String version) {
    if (!DeltaRelease.isTested(version)) {
      LOG.warn(
          "Column mapping usage tracking was not tested on delta-spark {}; its hooks match. Tested"
              + " releases: {}.",
          version,
          String.join(", ", Releases.DELTAS));
    }
  }

  /**
   * Returns the bridge in Delta's loader, and defines it there first if needed. This class never
   * refers to the bridge as a type: that could load a second bridge in our loader.
   */
  private static Class<?> bridge(
      Class<?> neighbour, MethodHandles.Lookup lookup, ClassFileLocator classFiles)
      throws IllegalAccessException, IOException {
    try {
      return Class.forName(BRIDGE, true, neighbour.getClassLoader());
    } catch (ClassNotFoundException notYetDefined) {
      return lookup.defineClass(classFiles.locate(BRIDGE).resolve());
    }
  }

  private static Class<?> neighbour() {
    try {
      return Class.forName(HookedMethod.MAIN_NEIGHBOUR, false, DeltaHooks.class.getClassLoader());
    } catch (ClassNotFoundException absent) {
      throw UsageTrackingErrors.unsupportedDeltaVersion(
              "(none)",
              List.of(
                  "delta-spark is not on the class path of sparkext.UsageTrackingExtension; give"
                      + " both by the same means, such as --packages and --jars"),
              absent)
          .sneakyThrow();
    }
  }
}
