// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/** The {@code run} of one of Delta's commands. */
abstract class CommandHook implements DeltaHook {
  static final String PACKAGE = "org.apache.spark.sql.delta.commands.";

  private final String command;

  /**
   * The hook of one command.
   *
   * @param command the name of its class
   */
  CommandHook(String command) {
    this.command = command;
  }

  @Override
  public final String typeName() {
    return PACKAGE + command;
  }

  @Override
  public final String neighbourName() {
    return PACKAGE + "TouchedFileWithDV";
  }

  @Override
  public final ElementMatcher.Junction<MethodDescription> method() {
    return DeltaHook.ofCommand("run");
  }
}
