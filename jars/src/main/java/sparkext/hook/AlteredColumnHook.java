// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/**
 * Lets ALTER TABLE DROP, RENAME, CHANGE and REPLACE COLUMNS remember the table of their analysis,
 * as {@link InsertHook} does for INSERT.
 *
 * <p>Why here: each of these commands has the table as it was analysed, and finds its column by
 * name in that of its transaction.
 *
 * <p>If it is missing: a statement that another one overtakes drops, or renames, the column that
 * got the name of the one that was meant.
 *
 * <p>Source: Delta 4.4.0, alterDeltaTableCommands.scala, {@code run} of the commands.
 */
final class AlteredColumnHook implements DeltaHook {
  private static final String PACKAGE = "org.apache.spark.sql.delta.commands.";

  private final String command;

  /**
   * The hook of one command.
   *
   * @param command the name of its class
   */
  AlteredColumnHook(String command) {
    this.command = command;
  }

  @Override
  public String typeName() {
    return PACKAGE + command;
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "TouchedFileWithDV";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return DeltaHook.ofCommand("run");
  }

  @Override
  public String adviceName() {
    return ViewInsertHook.RememberTableAdvice.class.getName();
  }
}
