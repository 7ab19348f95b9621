// SPDX-License-Identifier: Apache-2.0
package sparkext.hook;

import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.matcher.ElementMatcher;

/**
 * Lets a MERGE remember the table of its analysis, as {@link InsertHook} does for INSERT.
 *
 * <p>Why here: a MERGE that finds no file to look into reads nothing that {@link ScannedFilesHook}
 * could compare, and inserts by position.
 *
 * <p>If it is missing: after a column was dropped and another added, or columns changed places, a
 * DeltaTable of before inserts values into the columns of others, or misses its rows.
 *
 * <p>Source: Delta 4.4.0, MergeIntoCommand.scala, {@code runMerge}.
 */
final class MergeInsertHook implements DeltaHook {
  private static final String PACKAGE = "org.apache.spark.sql.delta.commands.";

  @Override
  public String typeName() {
    return PACKAGE + "MergeIntoCommand";
  }

  @Override
  public String neighbourName() {
    return PACKAGE + "TouchedFileWithDV";
  }

  @Override
  public ElementMatcher.Junction<MethodDescription> method() {
    return DeltaHook.ofCommand("runMerge");
  }

  @Override
  public String adviceName() {
    return ViewInsertHook.RememberTableAdvice.class.getName();
  }
}
