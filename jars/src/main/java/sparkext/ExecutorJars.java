// SPDX-License-Identifier: Apache-2.0
package sparkext;

import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Gives the executors the jars that the driver got from {@code spark.jars.packages}.
 *
 * <p>spark-submit adds those to {@code spark.jars}, and a PySpark session builder that sets {@code
 * spark.jars} itself, as {@code spark_ext.configure} does, then puts its own value in the place of
 * the sum. The driver has them on its class path by then; executors in JVMs of their own lack
 * Delta, and fail at the first task.
 *
 * <p>Source: Spark 4.0 to 4.2, SparkSubmit.scala, {@code prepareSubmitEnvironment}; context.py,
 * {@code _do_init}.
 */
final class ExecutorJars {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorJars.class);

  /** All jars of the driver in client mode; no setting of the user's. */
  private static final String DRIVER_JARS = "spark.repl.local.jars";

  private ExecutorJars() {}

  /** Adds what is missing. An executor in the driver's JVM has its classes; YARN has the sum. */
  static void complete() {
    Option<SparkContext> active = SparkContext$.MODULE$.getActive();
    if (active.isDefined()) {
      complete(active.get());
    }
  }

  private static void complete(SparkContext context) {
    if (context.isLocal() || context.master().startsWith("yarn")) {
      return;
    }
    Set<String> added =
        CollectionConverters.asJava(context.listJars()).stream()
            .map(ExecutorJars::fileName)
            .collect(Collectors.toSet());
    for (String jar : context.getConf().get(DRIVER_JARS, "").split(",")) {
      if (!jar.isBlank() && added.add(fileName(jar))) {
        LOG.info("Executors get {}, which the driver has", jar);
        context.addJar(jar);
      }
    }
  }

  private static String fileName(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }
}
