// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.matcher.ElementMatcher;
import org.apache.spark.sql.delta.UsageTrackingBridge;

/**
 * Lets an INSERT remember the table of which its analysis took the columns' names; {@link
 * TransactionStartHook} compares.
 *
 * <p>Why here: INSERT by position and by name, {@code insertInto}, {@code saveAsTable} and {@code
 * writeTo} all write through what this method builds, which knows the table as it was analysed.
 *
 * <p>If it is missing: what was inserted into a column arrives in another one that got its name
 * between the analysis and the transaction.
 *
 * <p>Source: Delta 4.4.0, DeltaTableV2.scala, {@code WriteIntoDeltaBuilder.build}.
 */
final class InsertHook implements DeltaHook {
  private static final String PACKAGE = "org.apache.spark.sql.delta.catalog.";

  @Override
  public String typeName() {
    return PACKAGE + "WriteIntoDeltaBuilder";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "BucketTransform";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("build")
        .and(takesArguments(0))
        .and(returns(named("org.apache.spark.sql.connector.write.V1Write")));
  }

  @Override
  public String adviceName() {
    return RememberTableAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class RememberTableAdvice {
    private RememberTableAdvice() {}

    @Advice.OnMethodExit
    @Advice.AssignReturned.ToReturned(typing = Assigner.Typing.DYNAMIC)
    static Object onExit(
        @Advice.This Object builder,
        @Advice.Return(typing = Assigner.Typing.DYNAMIC) Object write) {
      return UsageTrackingBridge.writeBuilt.apply(builder, write);
    }
  }
}
