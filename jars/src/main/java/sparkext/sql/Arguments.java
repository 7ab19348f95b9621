// SPDX-License-Identifier: Apache-2.0
package sparkext.sql;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType;
import scala.jdk.javaapi.CollectionConverters;
import sparkext.common.UsageTrackingException;

/** The arguments of a table function. */
record Arguments(String function, List<Expression> given) {
  int count() {
    return given.size();
  }

  /** Throws if there are fewer or more arguments. */
  void requireCount(int least, int most) {
    if (count() < least || count() > most) {
      List<Object> counts = List.copyOf(IntStream.rangeClosed(least, most).boxed().toList());
      throw UsageTrackingException.sneakyThrow(
          QueryCompilationErrors.wrongNumArgsError(
              function, CollectionConverters.asScala(counts).toList(), count(), "", "", ""));
    }
  }

  /** Returns an argument's value. Throws if it is null or not known during analysis. */
  Object value(int place, String parameter, DataType type) {
    Expression argument = given.get(place);
    if (!argument.foldable() || argument.exists(part -> part instanceof RuntimeReplaceable)) {
      throw UsageTrackingException.sneakyThrow(
          QueryCompilationErrors.nonFoldableArgumentError(function, parameter, type));
    }
    if (!isOf(argument.dataType(), type)) {
      throw UsageTrackingException.sneakyThrow(
          QueryCompilationErrors.unexpectedInputDataTypeError(function, place + 1, type, argument));
    }
    return nonNull(argument.eval(null), parameter);
  }

  String text(int place, String parameter) {
    return value(place, parameter, DataTypes.StringType).toString();
  }

  /** Returns the elements of the first argument. Throws if one is null. */
  Stream<String> texts(String parameter) {
    ArrayType type = DataTypes.createArrayType(DataTypes.StringType);
    ArrayData elements = (ArrayData) value(0, parameter, type);
    return Arrays.stream(elements.toObjectArray(DataTypes.StringType))
        .map(element -> nonNull(element, parameter).toString());
  }

  private Object nonNull(Object value, String parameter) {
    if (value == null) {
      throw UsageTrackingException.sneakyThrow(
          QueryCompilationErrors.nullArgumentError(function, parameter));
    }
    return value;
  }

  /** Strings may have any collation. */
  private static boolean isOf(DataType given, DataType wanted) {
    return given instanceof NullType
        || (wanted instanceof StringType && given instanceof StringType)
        || (wanted instanceof ArrayType wantedArray
            && given instanceof ArrayType givenArray
            && isOf(givenArray.elementType(), wantedArray.elementType()))
        || wanted.equals(given);
  }
}
