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
 * <p>spark-submit adds these jars to {@code spark.jars}. A PySpark session builder that sets {@code
 * spark.jars} itself, as {@code spark_ext.configure} does, then replaces that value. The driver has
 * the jars on its class path by then, but executors in their own JVMs lack Delta and fail at the
 * first task.
 *
 * <p>Source: Spark 4.0 to 4.2, SparkSubmit.scala, {@code prepareSubmitEnvironment}; context.py,
 * {@code _do_init}.
 */
final class ExecutorJars {
  private static final Logger LOG = LoggerFactory.getLogger(ExecutorJars.class);

  /** Spark's internal setting with all jars of the driver in client mode. */
  private static final String DRIVER_JARS = "spark.repl.local.jars";

  private ExecutorJars() {}

  /** Adds the missing jars. Local executors share the driver's classes, and YARN has all jars. */
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
