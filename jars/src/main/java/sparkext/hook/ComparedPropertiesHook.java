// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.matcher.ElementMatcher;
import org.apache.spark.sql.delta.UsageTrackingBridge;

/**
 * Leaves the flag out of the properties that a table at a location and the CREATE TABLE that
 * registers it must have in common, as Delta leaves out {@code delta.columnMapping.maxColumnId}.
 *
 * <p>Why here: {@code CreateDeltaTableCommand.verifyTableMetadata}, its one caller, takes what it
 * compares through this method, both sides.
 *
 * <p>If it is missing: a tracked table cannot be registered again with the properties that it was
 * created with.
 *
 * <p>Source: Delta 4.4.0, DeltaColumnMapping.scala, {@code
 * DeltaColumnMappingBase.filterColumnMappingProperties}.
 */
final class ComparedPropertiesHook implements DeltaHook {
  private static final String MAP = "scala.collection.immutable.Map";

  @Override
  public String typeName() {
    return "org.apache.spark.sql.delta.DeltaColumnMapping$";
  }

  @Override
  public String neighbourName() {
    return NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("filterColumnMappingProperties")
        .and(takesArguments(1))
        .and(takesArgument(0, named(MAP)))
        .and(returns(named(MAP)));
  }

  @Override
  public String adviceName() {
    return RemoveFlagAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RemoveFlagAdvice {
    private RemoveFlagAdvice() {}

    @Advice.OnMethodExit
    @Advice.AssignReturned.ToReturned(typing = Assigner.Typing.DYNAMIC)
    static Object onExit(@Advice.Return(typing = Assigner.Typing.DYNAMIC) Object properties) {
      return UsageTrackingBridge.comparedProperties.apply(properties);
    }
  }
}
