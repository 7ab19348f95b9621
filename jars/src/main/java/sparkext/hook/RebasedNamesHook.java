// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.returns;
import static net.bytebuddy.matcher.ElementMatchers.takesArgument;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.implementation.bytecode.assign.Assigner;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.pool.TypePool;
import org.apache.spark.sql.delta.UsageTrackingBridge;

/**
 * Makes a transaction conflict with one that switched column mapping on under other names than the
 * columns' own, or for other columns, as RESTORE does: its files have the columns' own names.
 *
 * <p>Why here: Delta rebases a transaction on a winner that switched column mapping on after this
 * method alone. Delta 4.0 rebases on no winner that changed the metadata so, and needs no hook
 * unless a vendor brought that there.
 *
 * <p>If it is missing: what was written without column mapping is null after such a RESTORE.
 *
 * <p>Source: Delta 4.4.0, ConflictChecker.scala, {@code areColumnMappingChangesConflictFree}.
 */
final class RebasedNamesHook implements DeltaHook {
  private static final String METADATA = "org.apache.spark.sql.delta.actions.Metadata";

  @Override
  public boolean isNeededIn(TypePool delta, ClassFileLocator classFiles) {
    return !DeltaHook.isOfDelta40(delta)
        || DeltaHook.has(delta, typeName(), "attemptToResolveMetadataConflicts");
  }

  @Override
  public String typeName() {
    return "org.apache.spark.sql.delta.ConflictChecker";
  }

  @Override
  public String neighbourName() {
    return NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("areColumnMappingChangesConflictFree")
        .and(takesArguments(2))
        .and(takesArgument(0, named(METADATA)))
        .and(takesArgument(1, named(METADATA)))
        .and(returns(boolean.class));
  }

  @Override
  public String adviceName() {
    return CompareNamesAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class CompareNamesAdvice {
    private CompareNamesAdvice() {}

    @Advice.OnMethodExit
    @Advice.AssignReturned.AsScalar(skipOnDefaultValue = false) // false is an answer
    @Advice.AssignReturned.ToReturned
    static boolean onExit(
        @Advice.FieldValue(value = "winningCommitSummary", typing = Assigner.Typing.DYNAMIC)
            Object winner,
        @Advice.AllArguments Object[] arguments,
        @Advice.Return boolean isConflictFree) {
      return isConflictFree && UsageTrackingBridge.rebased.test(winner, arguments[1]);
    }
  }
}
