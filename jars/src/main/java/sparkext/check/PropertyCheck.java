// SPDX-License-Identifier: Apache-2.0
package sparkext.check;

import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OptionList;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedTableSpec;
import org.apache.spark.sql.catalyst.plans.logical.UnsetTableProperties;
import org.apache.spark.sql.delta.commands.AlterTableUnsetPropertiesDeltaCommand;
import org.apache.spark.sql.delta.commands.CloneTableCommand;
import org.apache.spark.sql.delta.commands.CreateDeltaTableCommand;
import org.apache.spark.sql.execution.command.SetCommand;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterable;
import scala.collection.Map;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingErrors;
import sparkext.delta.UsageTrackingFeature;

/**
 * Refuses statements and builders that name the flag, and CREATE TABLE LIKE that names the feature.
 *
 * <p>The statement is checked, and not the metadata change, because RESTORE, CLONE and CREATE TABLE
 * LIKE may change the flag. So only names that the user wrote are checked.
 */
final class PropertyCheck {
  /** The plans of CREATE TABLE LIKE. Spark 4.0 and 4.1 have the second class only. */
  private static final Set<String> TABLE_LIKE = Set.of("CreateTableLike", "CreateTableLikeCommand");

  /** {@code CREATE TABLE .. OPTIONS} reaches Delta's catalog as properties with this prefix. */
  private static final String OPTION_PREFIX = "option.";

  private PropertyCheck() {}

  /** Throws if the plan has a node that names the flag, or the feature in CREATE TABLE LIKE. */
  static void refuse(LogicalPlan plan) {
    plan.foreach(
        node -> {
          refuseSessionDefault(node);
          refuseFlag(node);
          refuseFeatureOfTableLike(node);
          return null;
        });
  }

  private static boolean isTableLike(LogicalPlan node) {
    return TABLE_LIKE.contains(node.getClass().getSimpleName());
  }

  private static void refuseFlag(LogicalPlan node) {
    if (namedKeys(node).anyMatch(PropertyCheck::isFlag)) {
      throw UsageTrackingErrors.cannotModifyTableProperty(UsageTrackingFeature.FLAG).sneakyThrow();
    }
  }

  /**
   * Throws if CREATE TABLE LIKE names the feature. Delta gives the new table the protocol of its
   * source, and drops the named feature after the rules set the flag.
   */
  private static void refuseFeatureOfTableLike(LogicalPlan node) {
    if (isTableLike(node)
        && namedKeys(node).anyMatch(UsageTrackingFeature.PROPERTY::equalsIgnoreCase)) {
      throw UsageTrackingErrors.featureOfTableLike(UsageTrackingFeature.NAME).sneakyThrow();
    }
  }

  /** Returns the names of properties and options in a command, as the user wrote them. */
  private static Stream<String> namedKeys(LogicalPlan node) {
    if (node instanceof UnsetTableProperties unset) {
      return CollectionConverters.asJava(unset.propertyKeys()).stream();
    }
    if (node instanceof AlterTableUnsetPropertiesDeltaCommand unset) {
      return CollectionConverters.asJava(unset.propKeys()).stream();
    }
    if (node instanceof CreateDeltaTableCommand create && create.query().isDefined()) {
      // Delta's rules replace CLONE by this command.
      return create.query().get() instanceof CloneTableCommand clone
          ? strings(clone.tablePropertyOverrides().keys())
          : Stream.empty();
    }
    if (node instanceof Command || isDeltaStatement(node)) {
      return CollectionConverters.asJava(node.productIterator().toSeq()).stream()
          .flatMap(PropertyCheck::keysOf);
    }
    return Stream.empty();
  }

  private static Stream<String> keysOf(Object element) {
    if (element instanceof Map<?, ?> map) {
      return strings(map.keys());
    }
    if (element instanceof UnresolvedTableSpec spec) {
      return Stream.concat(keysOf(spec.properties()), keysOf(spec.optionExpression()));
    }
    if (element instanceof OptionList options) {
      return CollectionConverters.asJava(options.options()).stream().map(Tuple2::_1);
    }
    if (element instanceof TableSpec spec) {
      return Stream.concat(keysOf(spec.properties()), keysOf(spec.options()));
    }
    return Stream.empty();
  }

  private static Stream<String> strings(Iterable<?> values) {
    return CollectionConverters.asJava(values.toSeq()).stream()
        .filter(String.class::isInstance)
        .map(String.class::cast);
  }

  private static boolean isDeltaStatement(LogicalPlan node) {
    return node.getClass().getName().startsWith("org.apache.spark.sql.delta.")
        || node.getClass()
            .getName()
            .startsWith("org.apache.spark.sql.catalyst.plans.logical.Clone");
  }

  private static boolean isFlag(String key) {
    return key.equalsIgnoreCase(UsageTrackingFeature.FLAG)
        || key.equalsIgnoreCase(OPTION_PREFIX + UsageTrackingFeature.FLAG);
  }

  private static void refuseSessionDefault(LogicalPlan node) {
    if (!(node instanceof SetCommand set)) {
      return;
    }
    Option<Tuple2<String, Option<String>>> assignment = set.kv();
    if (assignment.isDefined()
        && assignment.get()._2().isDefined()
        && assignment.get()._1().equalsIgnoreCase(UsageTrackingFeature.FLAG_DEFAULT)) {
      throw UsageTrackingErrors.cannotModifyTableProperty(UsageTrackingFeature.FLAG).sneakyThrow();
    }
  }
}
