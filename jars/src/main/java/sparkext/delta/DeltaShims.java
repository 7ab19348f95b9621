// SPDX-License-Identifier: Apache-2.0
package sparkext.delta;

import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.delta.DeltaConfig;
import org.apache.spark.sql.delta.DeltaConfigs$;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.InMemoryLogReplay;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingException;

/**
 * Calls methods of Delta that have another name or other parameters in Delta 4.0 than in later
 * releases.
 *
 * <p>Each method is looked up by itself: a vendor's Delta 4.0 may contain some later methods.
 *
 * <p>Source: Delta 4.0.1, DeltaLog.scala, SnapshotManagement.scala, DeltaConfig.scala,
 * InMemoryLogReplay.scala.
 */
public final class DeltaShims {
  // Looked up once, because a scan may read commits.
  private static final boolean LOG_FILES_TAKE_TABLE =
      has(DeltaLog.class, "getChangeLogFiles", long.class, Option.class, boolean.class);
  private static final boolean SNAPSHOTS_TAKE_RETENTION =
      has(DeltaLog.class, "getSnapshotAt", long.class, Option.class, Option.class, boolean.class);

  private DeltaShims() {}

  /** The file of a commit. */
  public record CommitFile(long version, FileStatus file) {}

  /** Returns the commits from a version on, once, by {@code DeltaLog.getChangeLogFiles}. */
  @SuppressWarnings("unchecked")
  public static Iterable<CommitFile> commits(
      DeltaLog log, long start, Option<CatalogTable> table, boolean failOnDataLoss) {
    Iterator<Tuple2<Object, FileStatus>> files =
        LOG_FILES_TAKE_TABLE
            ? log.getChangeLogFiles(start, table, failOnDataLoss)
            : (Iterator<Tuple2<Object, FileStatus>>)
                call(log, "getChangeLogFiles", start, failOnDataLoss);
    return () ->
        CollectionConverters.asJava(
            files.map(found -> new CommitFile((long) found._1(), found._2())));
  }

  /** Calls {@code DeltaLog.getSnapshotAt}, without a limit on the age of the version. */
  public static Snapshot getSnapshotAt(DeltaLog log, long version, Option<CatalogTable> table) {
    return SNAPSHOTS_TAKE_RETENTION
        ? log.getSnapshotAt(
            version,
            Option.empty(),
            table,
            /* enforceTimeTravelWithinDeletedFileRetention= */ false)
        : (Snapshot) call(log, "getSnapshotAt", version, Option.empty(), table);
  }

  /** Returns {@code DeltaConfigs.entries}, the mutable map of properties that Delta knows. */
  @SuppressWarnings("unchecked")
  public static Map<String, DeltaConfig<?>> entries() {
    DeltaConfigs$ configs = DeltaConfigs$.MODULE$;
    return has(DeltaConfigs$.class, "entries")
        ? configs.entries()
        : (Map<String, DeltaConfig<?>>)
            call(configs, "org$apache$spark$sql$delta$DeltaConfigsBase$$entries");
  }

  /** Returns an {@code InMemoryLogReplay} without a retention. */
  public static InMemoryLogReplay logReplay() {
    try {
      return has(InMemoryLogReplay.class, Option.class, Option.class)
          ? new InMemoryLogReplay(Option.empty(), Option.empty())
          : InMemoryLogReplay.class
              .getConstructor(long.class, Option.class)
              .newInstance(Long.MIN_VALUE, Option.empty());
    } catch (ReflectiveOperationException misfit) {
      throw UsageTrackingException.sneakyThrow(misfit);
    }
  }

  private static boolean has(Class<?> type, String name, Class<?>... parameters) {
    return Arrays.stream(type.getMethods())
        .anyMatch(
            method ->
                method.getName().equals(name)
                    && Arrays.equals(method.getParameterTypes(), parameters));
  }

  private static boolean has(Class<?> type, Class<?>... parameters) {
    return Arrays.stream(type.getConstructors())
        .anyMatch(constructor -> Arrays.equals(constructor.getParameterTypes(), parameters));
  }

  /** Calls the method of this name with as many parameters. */
  private static Object call(Object target, String name, Object... arguments) {
    try {
      return Arrays.stream(target.getClass().getMethods())
          .filter(method -> method.getName().equals(name))
          .filter(method -> method.getParameterCount() == arguments.length)
          .findAny()
          .orElseThrow(() -> new NoSuchMethodException(target.getClass().getName() + "." + name))
          .invoke(target, arguments);
    } catch (InvocationTargetException failed) {
      throw UsageTrackingException.sneakyThrow(failed.getCause());
    } catch (ReflectiveOperationException misfit) {
      throw UsageTrackingException.sneakyThrow(misfit);
    }
  }
}
