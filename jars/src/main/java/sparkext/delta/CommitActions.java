// SPDX-License-Identifier: Apache-2.0
package sparkext.delta;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Action$;
import sparkext.common.FailedRead;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;
import sparkext.log.CommitLines;

/**
 * The actions of a commit. Delta has two readers of commits. Spark's JSON reader, which rebuilds
 * the state of a table, also accepts arrays of actions, single quotes and statistics that are
 * objects. {@code Action.fromJson}, which this class calls, accepts none of them.
 *
 * <p>Source: Delta 4.4.0, DeltaLog.scala, {@code indexToRelation} and {@code getChanges}.
 *
 * @param actions the actions that this Delta knows
 * @param problem the first line that {@code fromJson} cannot read or that is not UTF-8, for which a
 *     caller must call Delta; null if there is none
 */
public record CommitActions(List<Action> actions, String problem) {
  /** A decoder puts this in the place of bytes that are not UTF-8; Spark refuses such bytes. */
  private static final char REPLACEMENT = '\uFFFD';

  /** Reads a whole commit. */
  public static CommitActions of(Path commit, Configuration configuration) {
    return of(commit, configuration, line -> true);
  }

  /**
   * Reads the lines of a commit that are wanted. If the storage fails, this method throws the
   * {@code IOException} of the storage, although its signature does not declare it.
   */
  public static CommitActions of(
      Path commit, Configuration configuration, Predicate<String> isWanted) {
    Reading reading = new Reading();
    try (CommitLines lines = new CommitLines(commit, configuration)) {
      for (String line; (line = lines.next()) != null; ) {
        if (isWanted.test(line)) {
          reading.add(line, lines.number());
        }
      }
    } catch (IOException unreachable) {
      throw UsageTrackingException.sneakyThrow(unreachable);
    }
    return reading.end();
  }

  /** Reads actions that are parsed already; a position in the list stands for a line. */
  public static CommitActions of(List<JsonNode> objects) {
    Reading reading = new Reading();
    int number = 0;
    for (JsonNode object : objects) {
      reading.add(object.toString(), ++number);
    }
    return reading.end();
  }

  private static final class Reading {
    private final List<Action> actions = new ArrayList<>();
    private String problem;

    void add(String line, int number) {
      String reason = line.indexOf(REPLACEMENT) < 0 ? null : "it is not UTF-8";
      try {
        Action action = Action$.MODULE$.fromJson(line);
        if (action != null) {
          actions.add(action);
        }
      } catch (Exception unread) { // Scala declares no checked exceptions
        reason =
            unread instanceof JsonProcessingException json
                ? json.getOriginalMessage()
                : unread.toString();
      }
      if (problem == null && reason != null) {
        problem = "its line " + number + " is not an action: " + reason;
      }
    }

    CommitActions end() {
      return new CommitActions(List.copyOf(actions), problem);
    }
  }

  /** Returns whether this contains every action of the commit. */
  public boolean isComplete() {
    return problem == null;
  }

  /** Returns whether {@code fromJson}, which Delta calls for winning commits, has failed. */
  public static boolean isUnread(Throwable failure) {
    for (StackTraceElement place : failure.getStackTrace()) {
      if (place.getClassName().equals(Action$.class.getName())
          && place.getMethodName().equals("fromJson")) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns USAGE_TRACKING_UNREADABLE_LOG with the line at fault if Spark failed to read a commit,
   * and any other failure unchanged.
   */
  public static Throwable described(Throwable failure, Configuration configuration) {
    FailedRead read = FailedRead.in(failure);
    if (read == null || !read.file().getName().endsWith(".json")) {
      return failure;
    }
    String problem = of(read.file(), configuration).problem();
    return problem == null
        ? failure
        : UsageTrackingErrors.unreadableLog(read.file().toString(), problem);
  }
}
