// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.util.List;
import java.util.Map;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.method.MethodList;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;

/**
 * The signature of a method of Delta, with the type that declares the method. The type declares at
 * most one method with this signature.
 *
 * <p>This class uses the names of types and loads no type, because not every JVM can redefine a
 * loaded type with a hook.
 *
 * @param typeName the binary name of the type that declares the method
 * @param neighbourName the binary name of another type in the same package. A lookup in the
 *     neighbour defines the types of the package. Loading the neighbour loads no type with a hook.
 */
record HookedMethod(
    String typeName,
    String neighbourName,
    String returnType,
    String name,
    List<String> argumentTypes) {
  static final String DELTA = "org.apache.spark.sql.delta.";
  static final String COMMANDS = DELTA + "commands.";
  static final String DELTA_LOG = DELTA + "DeltaLog";
  static final String METADATA = DELTA + "actions.Metadata";
  static final String PROTOCOL = DELTA + "actions.Protocol";
  static final String TRANSACTION = DELTA + "OptimisticTransaction";
  static final String DATASET = "org.apache.spark.sql.Dataset";
  static final String LOGICAL_PLAN = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan";
  static final String SESSION = "org.apache.spark.sql.SparkSession";
  static final String MAP = "scala.collection.immutable.Map";
  static final String OPTION = "scala.Option";
  static final String SEQ = "scala.collection.immutable.Seq";
  static final String BOOLEAN = "boolean";
  static final String LONG = "long";
  static final String VOID = "void";

  /** The neighbour in Delta's main package. The hooks use its class loader as Delta's. */
  static final String MAIN_NEIGHBOUR = DELTA + "DroppedColumn";

  private static final Map<String, String> NEIGHBOURS =
      Map.of(
          DELTA,
          MAIN_NEIGHBOUR,
          DELTA + "catalog.",
          DELTA + "catalog.BucketTransform",
          DELTA + "files.",
          DELTA + "files.DeltaFileListingResult",
          DELTA + "sources.",
          DELTA + "sources.DeltaSourceOffset",
          COMMANDS,
          COMMANDS + "TouchedFileWithDV",
          COMMANDS + "cdc.",
          COMMANDS + "cdc.CDCReader$CDCDataSpec",
          COMMANDS + "columnmapping.",
          COMMANDS + "columnmapping.RemoveColumnMappingCommand$");

  /** Returns a method of a type. The package of the type must be one of {@code NEIGHBOURS}. */
  static HookedMethod method(
      String typeName, String returnType, String name, String... argumentTypes) {
    String neighbour = NEIGHBOURS.get(typeName.substring(0, typeName.lastIndexOf('.') + 1));
    return new HookedMethod(typeName, neighbour, returnType, name, List.of(argumentTypes));
  }

  /** Returns the methods that a type declares; none if this release of Delta lacks the type. */
  static MethodList<?> methods(TypePool types, String typeName) {
    TypePool.Resolution type = types.describe(typeName);
    return type.isResolved() ? type.resolve().getDeclaredMethods() : new MethodList.Empty<>();
  }

  /** Returns whether the type declares a field. The type must exist. */
  boolean typeHasField(String field, TypePool types) {
    return !types.describe(typeName).resolve().getDeclaredFields().filter(named(field)).isEmpty();
  }

  boolean isIn(TypePool types) {
    return !methods(types, typeName).filter(matcher()).isEmpty();
  }

  ElementMatcher.Junction<MethodDescription> matcher() {
    ElementMatcher.Junction<MethodDescription> matcher =
        named(name).and(returns(named(returnType))).and(takesArguments(argumentTypes.size()));
    for (int i = 0; i < argumentTypes.size(); i++) {
      matcher = matcher.and(takesArgument(i, named(argumentTypes.get(i))));
    }
    return matcher;
  }

  @Override
  public String toString() {
    return returnType + " " + typeName + "." + name + "(" + String.join(", ", argumentTypes) + ")";
  }
}
