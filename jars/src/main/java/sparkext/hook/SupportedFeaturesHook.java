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
 * Adds {@code columnMappingUsageTracking} to the features that this Delta supports.
 *
 * <p>Why here: Delta has no registry. Protocol checks, {@code delta.feature.*} properties, DROP
 * FEATURE and session defaults all ask this method.
 *
 * <p>If it is missing: a tracked table cannot be created or written.
 *
 * <p>Source: Delta 4.4.0, TableFeature.scala, {@code object TableFeature.allSupportedFeaturesMap}.
 */
final class SupportedFeaturesHook implements DeltaHook {
  @Override
  public String typeName() {
    return "org.apache.spark.sql.delta.TableFeature$";
  }

  @Override
  public String neighbourName() {
    return NEIGHBOUR;
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return named("allSupportedFeaturesMap")
        .and(takesArguments(0))
        .and(returns(named("scala.collection.immutable.Map")));
  }

  @Override
  public String adviceName() {
    return AddFeatureAdvice.class.getName();
  }

  /** Inlined into Delta's method. */
  @SuppressWarnings("unused")
  static final class AddFeatureAdvice {
    private AddFeatureAdvice() {}

    @Advice.OnMethodExit
    @Advice.AssignReturned.ToReturned(typing = Assigner.Typing.DYNAMIC)
    static Object onExit(@Advice.Return(typing = Assigner.Typing.DYNAMIC) Object features) {
      return UsageTrackingBridge.supportedFeatures.apply(features);
    }
  }
}
