// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static java.util.Map.entry;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.function.BinaryOperator;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import net.bytebuddy.dynamic.ClassFileLocator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import sparkext.error.Releases;
import sparkext.error.UsageTrackingErrors;
import sparkext.feature.Downgrade;
import sparkext.feature.UsageTrackingFeature;
import sparkext.release.DeltaRelease;
import sparkext.release.Linkage;
import sparkext.release.Versions;
import sparkext.removal.PurgeCommand;
import sparkext.removal.RemovalCommand;
import sparkext.removal.StrictFileRead;
import sparkext.stale.RebasedNames;
import sparkext.stale.ReusedNames;
import sparkext.stale.StalePlan;
import sparkext.stale.StaleStatement;
import sparkext.wire.MetadataRules;

/** The hooks, and their one-time installation into a JVM's Delta. */
public final class DeltaHooks {
  private static final List<DeltaHook> OF_ALL_RELEASES =
      List.of(
          new SupportedFeaturesHook(),
          new AssignedMetadataHook(),
          new ComparedPropertiesHook(),
          new DowngradeHook(),
          RemovalHook.AT_START,
          RemovalHook.AT_READ,
          PurgeHook.AT_GROUPS,
          PurgeHook.AT_GROUP,
          PurgeHook.AT_COMMIT,
          PurgeHook.AT_END,
          new ScannedFilesHook(),
          new ListedFilesHook(),
          new MatchedRowsHook(),
          new DeletedFilesHook(),
          new UpdatedFilesHook(),
          new RebasedNamesHook(),
          ChangeFeedHook.OF_METHOD,
          ChangeFeedHook.OF_NESTED_METHOD,
          StreamHook.AT_START,
          StreamHook.AT_CHANGE,
          new InsertHook(),
          new ViewInsertHook(),
          new PartitionInsertHook(),
          new MergeInsertHook(),
          new AlteredColumnHook("AlterTableDropColumnsDeltaCommand"),
          new AlteredColumnHook("AlterTableChangeColumnDeltaCommand"),
          new AlteredColumnHook("AlterTableReplaceColumnsDeltaCommand"),
          new TransactionStartHook());
  static final List<DeltaHook> ALL =
      Stream.concat(OF_ALL_RELEASES.stream(), UnlinkedCommandHook.ALL.stream()).toList();

  static final String BRIDGE = "org.apache.spark.sql.delta.UsageTrackingBridge";

  private static final Logger LOG = LoggerFactory.getLogger(DeltaHooks.class);

  private DeltaHooks() {}

  /**
   * Weaves every hook and sets the bridge's functions; does nothing when that is done already.
   *
   * <p>All hooks, and all that our classes call, are matched against Delta's and Spark's class
   * files before the first is woven, and the bridge changes nothing until the last is: there is no
   * half-woven session.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION
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
   * Refuses a class path without Delta.
   *
   * @throws sparkext.error.UsageTrackingException USAGE_TRACKING_UNSUPPORTED_DELTA_VERSION
   */
  public static void requireDelta() {
    neighbour();
  }

  /**
   * Whether this Delta has a feature {@code columnMappingUsageTracking} itself. Then nothing of
   * ours may be in its way: its rules decide what ours would decide.
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

  /** Ours and Delta's; the two may have one loader. */
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
    synchronized (bridge) {
      if (bridge.getField("woven").getBoolean(null)) {
        return;
      }
      HookWeaver weaver = new HookWeaver(classFiles, neighbour.getClassLoader());
      List<DeltaHook> needed = weaver.needed(ALL);
      List<String> mismatches = new ArrayList<>(weaver.mismatches(needed));
      mismatches.addAll(Linkage.misfits(classFiles));
      if (!mismatches.isEmpty()) {
        throw UsageTrackingErrors.unsupportedDeltaVersion(Versions.delta(), mismatches, null)
            .sneakyThrow();
      }
      weaver.weave(needed);
      // Before the feature is there: a session that runs already may use it at once. After the
      // weaving: it loads Delta's configuration, and with it perhaps a type that is to be woven.
      UsageTrackingFeature.registerFlag();
      setFunctions(bridge);
      bridge.getField("woven").setBoolean(null, true);
      warnIfUntested(Versions.delta());
    }
  }

  private static void setFunctions(Class<?> bridge) throws ReflectiveOperationException {
    UnaryOperator<Object> supportedFeatures = DeltaHooks::withUsageTracking;
    BiFunction<Object[], Object, Object> assignedMetadata = MetadataRules::nextMetadata;
    UnaryOperator<Object> comparedProperties = DeltaHooks::withoutFlag;
    BiConsumer<Object, Object> downgraded = Downgrade::removeFlag;
    BiPredicate<Object, Object[]> removed = RemovalCommand::commit;
    UnaryOperator<Object> rewrittenRead = StrictFileRead::of;
    BiFunction<Object[], Object, Object> purgeBegun = PurgeCommand::begin;
    BiFunction<Object[], Object, Object> purgeGrouped = PurgeCommand::group;
    BinaryOperator<Object> purgeWritten = PurgeCommand::actions;
    Consumer<Object> purgeFailed = PurgeCommand::fail;
    BinaryOperator<Object> purgeCommitted = PurgeCommand::commit;
    BiConsumer<Object[], Object> purgeEnded = PurgeCommand::end;
    BiConsumer<Object, Object> scanned = StalePlan::refuseScan;
    BiConsumer<Object, Object> listed = StalePlan::refuseListed;
    BiConsumer<Object, Object> matched = StalePlan::refuseMatching;
    BiConsumer<Object, Object> searched = StalePlan::refuseSearch;
    BiPredicate<Object, Object> rebased = RebasedNames::fit;
    Consumer<Object[]> changesChecked = ReusedNames::refuseChanges;
    BiConsumer<Object, Object[]> streamChecked = ReusedNames::refuseStream;
    BinaryOperator<Object> writeBuilt = StaleStatement::remembering;
    Consumer<Object> statementBegun = StaleStatement::begin;
    Runnable statementEnded = StaleStatement::end;
    BiConsumer<Object, Object> started = StaleStatement::refuse;
    BiConsumer<Object, Object[]> unlinked = DeltaHooks::refuseUnlinked;
    Map<String, Object> functions =
        Map.ofEntries(
            entry("supportedFeatures", supportedFeatures),
            entry("assignedMetadata", assignedMetadata),
            entry("comparedProperties", comparedProperties),
            entry("downgraded", downgraded),
            entry("removed", removed),
            entry("rewrittenRead", rewrittenRead),
            entry("purgeBegun", purgeBegun),
            entry("purgeGrouped", purgeGrouped),
            entry("purgeWritten", purgeWritten),
            entry("purgeFailed", purgeFailed),
            entry("purgeCommitted", purgeCommitted),
            entry("purgeEnded", purgeEnded),
            entry("scanned", scanned),
            entry("listed", listed),
            entry("matched", matched),
            entry("searched", searched),
            entry("rebased", rebased),
            entry("changesChecked", changesChecked),
            entry("streamChecked", streamChecked),
            entry("writeBuilt", writeBuilt),
            entry("statementBegun", statementBegun),
            entry("statementEnded", statementEnded),
            entry("started", started),
            entry("unlinked", unlinked));
    for (Map.Entry<String, Object> function : functions.entrySet()) {
      bridge.getField(function.getKey()).set(null, function.getValue());
    }
  }

  private static void refuseUnlinked(Object typeName, Object[] of) {
    UnlinkedCommandHook.refuse(typeName, of, classFiles(neighbour()));
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

  /** The bridge in Delta's loader. Never named in code: that could load a second one in ours. */
  private static Class<?> bridge(
      Class<?> neighbour, MethodHandles.Lookup lookup, ClassFileLocator classFiles)
      throws IllegalAccessException, IOException {
    try {
      return Class.forName(BRIDGE, true, neighbour.getClassLoader());
    } catch (ClassNotFoundException notYetDefined) {
      return lookup.defineClass(classFiles.locate(BRIDGE).resolve());
    }
  }

  @SuppressWarnings("unchecked")
  private static Object withUsageTracking(Object features) {
    return ((scala.collection.immutable.Map<String, Object>) features)
        .updated(UsageTrackingFeature.NAME.toLowerCase(Locale.ROOT), UsageTrackingFeature.INSTANCE);
  }

  @SuppressWarnings("unchecked")
  private static Object withoutFlag(Object properties) {
    return ((scala.collection.immutable.Map<String, String>) properties)
        .removed(UsageTrackingFeature.FLAG);
  }

  private static Class<?> neighbour() {
    try {
      return Class.forName(DeltaHook.NEIGHBOUR, false, DeltaHooks.class.getClassLoader());
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
