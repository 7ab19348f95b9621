// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

import java.io.File;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.internal.SQLConf$;
import sparkext.common.Setting;
import sparkext.common.UsageTrackingErrors;
import sparkext.common.UsageTrackingException;

/**
 * Reads the settings of the rule process from the application's configuration and environment.
 *
 * <p>The process runs as the user of the driver, and all sessions share the process. Clients of a
 * Thrift or Connect server must not choose its program by a setting of their session.
 */
public final class ProcessSettings {
  private static final Setting PYTHON = new Setting("spark.sparkext.worker.python");
  private static final Setting TIMEOUT = new Setting("spark.sparkext.worker.timeout");

  /**
   * The first value wins. Our own setting is for notebooks, where Spark's setting names a front
   * end.
   */
  private static final List<String> PYTHON_CONFS =
      List.of(PYTHON.key(), "spark.pyspark.driver.python", "spark.pyspark.python");

  private static final List<String> PYTHON_VARIABLES =
      List.of("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON");

  private ProcessSettings() {}

  /** Makes Spark refuse to set these settings in a session, as Spark's own static settings. */
  public static void refuseInSessions() {
    Setting.keysOfApplication().forEach(SQLConf$.MODULE$::registerStaticConfigKey);
  }

  /** Returns the interpreter of the rule process. */
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

  /** Returns false for a notebook front end, to which users of PySpark set these variables. */
  private static boolean isInterpreter(String value) {
    String name = new File(value).getName();
    return !name.startsWith("jupyter") && !name.startsWith("ipython");
  }

  /**
   * Returns how long a call may take, the start of the process included.
   *
   * @throws UsageTrackingException USAGE_TRACKING_RULES_UNAVAILABLE, USAGE_TRACKING_INVALID_SETTING
   */
  static long timeoutMillis() throws UsageTrackingException {
    return TIMEOUT.millis(conf());
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
