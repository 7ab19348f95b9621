// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

import java.io.File;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.internal.SQLConf$;
import sparkext.error.Setting;
import sparkext.error.UsageTrackingErrors;
import sparkext.error.UsageTrackingException;

/**
 * How the rule process is run: said by the application's configuration, never by a session's.
 *
 * <p>It runs as the user of the driver. Clients of a Thrift or Connect server, who may set what
 * they like in their sessions, must not choose its program; and all sessions share one process.
 */
public final class ProcessSettings {
  /** The interpreter, first found; ours is there for notebooks, where Spark's is not a Python. */
  private static final List<String> PYTHON_CONFS =
      List.of(Setting.PYTHON.key(), "spark.pyspark.driver.python", "spark.pyspark.python");

  private static final List<String> PYTHON_VARIABLES =
      List.of("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON");

  private ProcessSettings() {}

  /** Makes Spark refuse to set ours in a session, as it refuses its own static settings. */
  public static void refuseInSessions() {
    for (Setting setting : Setting.values()) {
      if (setting.isOfApplication()) {
        SQLConf$.MODULE$.registerStaticConfigKey(setting.key());
      }
    }
  }

  /** The interpreter of the rule process. */
  static String python() throws UsageTrackingException {
    SparkConf conf = conf();
    Stream<String> confs = PYTHON_CONFS.stream().map(key -> conf.get(key, ""));
    Stream<String> variables =
        PYTHON_VARIABLES.stream().map(System::getenv).filter(Objects::nonNull);
    return Stream.concat(confs, variables.filter(ProcessSettings::isInterpreter))
        .filter(value -> !value.isBlank())
        .findFirst()
        .orElse("python3");
  }

  /** PySpark users set these variables to a notebook front end, which runs no program of ours. */
  private static boolean isInterpreter(String value) {
    String name = new File(value).getName();
    return !name.startsWith("jupyter") && !name.startsWith("ipython");
  }

  /**
   * How long a call may take, the start of the process included.
   *
   * @throws UsageTrackingException USAGE_TRACKING_INVALID_SETTING
   */
  static long timeoutMillis() throws UsageTrackingException {
    return Setting.WORKER_TIMEOUT.millis(conf());
  }

  private static SparkConf conf() throws UsageTrackingException {
    SparkEnv env = SparkEnv.get();
    if (env == null) {
      throw UsageTrackingErrors.rulesUnavailable(
          "the Spark application has ended", List.of(), "none", "", null);
    }
    return env.conf();
  }
}
