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
 * Replaces the column mapping that Delta assigned by the one that the rules decide.
 *
 * <p>Why here: every metadata change meets in {@code
 * OptimisticTransactionImpl.updateMetadataInternal}, which calls this method before a data file is
 * written and before the protocol is derived from the metadata.
 *
 * <p>If it is missing: new columns get {@code col-<uuid>} and the flag never turns true.
 *
 * <p>Source: Delta 4.4.0, DeltaColumnMapping.scala, {@code
 * DeltaColumnMappingBase.verifyAndUpdateMetadataChange}.
 */
final class AssignedMetadataHook implements DeltaHook {
  private static final String DELTA = "org.apache.spark.sql.delta.";
  private static final String METADATA = DELTA + "actions.Metadata";

  @Override
  public String typeName() {
    return DELTA + "DeltaColumnMapping$";
  }

  @Override
  public String neighbourName() {
    return NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("verifyAndUpdateMetadataChange")
        .and(takesArguments(7))
        .and(takesArgument(0, named("org.apache.spark.sql.SparkSession")))
        .and(takesArgument(1, named(DELTA + "DeltaLog")))
        .and(takesArgument(2, named(DELTA + "actions.Protocol")))
        .and(takesArgument(3, named(METADATA)))
        .and(takesArgument(4, named(METADATA)))
        .and(takesArgument(5, boolean.class))
        .and(takesArgument(6, boolean.class))
        .and(returns(named(METADATA)));
  }

  @Override
  public String adviceName() {
    return ApplyRulesAdvice.class.getName();
  }

  /** Inlined into Delta's method. What it throws, fails the commit. */
  @SuppressWarnings("unused")
  static final class ApplyRulesAdvice {
    private ApplyRulesAdvice() {}

    @Advice.OnMethodExit
    @Advice.AssignReturned.ToReturned(typing = Assigner.Typing.DYNAMIC)
    static Object onExit(
        @Advice.AllArguments Object[] arguments,
        @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object assigned) {
      return UsageTrackingBridge.assignedMetadata.apply(arguments, assigned);
    }
  }
}
