// SPDX-License-Identifier: Apache-2.0
package sparkext.delta;

import static net.bytebuddy.matcher.ElementMatchers.named;

import net.bytebuddy.ByteBuddy;
import net.bytebuddy.implementation.FixedValue;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.PreDowngradeStatus;
import org.apache.spark.sql.delta.PreDowngradeTableFeatureCommand;

/** The command that DROP FEATURE runs before it drops the feature. This command does nothing. */
final class NothingToPrepare extends PreDowngradeTableFeatureCommand {
  private static final String METHOD = "removeFeatureTracesIfNeeded";

  private NothingToPrepare() {}

  /**
   * Returns the command. In Delta 4.0 {@code removeFeatureTracesIfNeeded} returns a boolean, so a
   * generated subclass overrides the method there.
   */
  static PreDowngradeTableFeatureCommand command() {
    try {
      boolean returnsBoolean =
          PreDowngradeTableFeatureCommand.class
              .getMethod(METHOD, SparkSession.class)
              .getReturnType()
              .equals(boolean.class);
      return returnsBoolean ? commandForDelta40() : new NothingToPrepare();
    } catch (ReflectiveOperationException unsupported) {
      throw new IllegalStateException(unsupported);
    }
  }

  private static PreDowngradeTableFeatureCommand commandForDelta40()
      throws ReflectiveOperationException {
    return new ByteBuddy()
        .subclass(PreDowngradeTableFeatureCommand.class)
        .method(named(METHOD))
        .intercept(FixedValue.value(false))
        .make()
        .load(NothingToPrepare.class.getClassLoader())
        .getLoaded()
        .getConstructor()
        .newInstance();
  }

  @Override
  public PreDowngradeStatus removeFeatureTracesIfNeeded(SparkSession session) {
    return PreDowngradeStatus.DID_NOT_PERFORM_CHANGES();
  }
}
