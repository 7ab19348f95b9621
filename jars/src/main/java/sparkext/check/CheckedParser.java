// SPDX-License-Identifier: Apache-2.0
package sparkext.check;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Wraps the parser of a session, and checks statements if {@link StatementCheck} is too late.
 *
 * <p>{@code StatementCheck} is too late if Delta's rules run before it. If {@code StatementCheck}
 * runs before Delta's rules, this parser refuses no statement: Delta's parser calls this parser,
 * and would turn a refusal into a parse error.
 *
 * <p>This class overrides every method that is abstract in Spark 4.0 to 4.2. Like Delta's parser,
 * this class inherits the methods that Spark 4.1 added, and these methods call {@code parsePlan}.
 */
public final class CheckedParser implements ParserInterface {
  private final SparkSession session;
  private final ParserInterface parser;

  /**
   * Whether this parser refuses statements. The value is null until the first statement, because a
   * session creates its parser before its rules.
   */
  private volatile Boolean refuses;

  private CheckedParser(SparkSession session, ParserInterface parser) {
    this.session = session;
    this.parser = parser;
  }

  /** Adds this parser to a session. The parser wraps the parser that the session has. */
  public static void inject(SparkSessionExtensions extensions) {
    extensions.injectParser(CheckedParser::new);
  }

  @Override
  public LogicalPlan parsePlan(String sqlText) throws ParseException {
    LogicalPlan plan = parser.parsePlan(sqlText);
    if (refuses == null) {
      refuses = StatementCheck.followsDelta(session);
    }
    if (refuses) {
      StatementCheck.refuse(session, plan);
    }
    return plan;
  }

  @Override
  public LogicalPlan parseQuery(String sqlText) throws ParseException {
    return parser.parseQuery(sqlText);
  }

  @Override
  public Expression parseExpression(String sqlText) throws ParseException {
    return parser.parseExpression(sqlText);
  }

  @Override
  public TableIdentifier parseTableIdentifier(String sqlText) throws ParseException {
    return parser.parseTableIdentifier(sqlText);
  }

  @Override
  public FunctionIdentifier parseFunctionIdentifier(String sqlText) throws ParseException {
    return parser.parseFunctionIdentifier(sqlText);
  }

  @Override
  public Seq<String> parseMultipartIdentifier(String sqlText) throws ParseException {
    return parser.parseMultipartIdentifier(sqlText);
  }

  @Override
  public StructType parseTableSchema(String sqlText) throws ParseException {
    return parser.parseTableSchema(sqlText);
  }

  @Override
  public DataType parseDataType(String sqlText) throws ParseException {
    return parser.parseDataType(sqlText);
  }

  @Override
  public StructType parseRoutineParam(String sqlText) throws ParseException {
    return parser.parseRoutineParam(sqlText);
  }
}
