// SPDX-License-Identifier: Apache-2.0
package sparkext;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Map;
import java.util.stream.Stream;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.dynamic.TargetType;
import net.bytebuddy.implementation.FixedValue;
import org.junit.jupiter.api.Test;

/**
 * Tests the extension on a class path with the version classes of Spark 3.5 and Scala 2.12, and no
 * other class of Spark or Delta. A refusal that named another class would fail to load it.
 */
class UnsupportedSparkTest {
  private static final String SPARK = "org.apache.spark.package$";
  private static final String SCALA = "scala.util.Properties$";

  private static final class OldSpark extends URLClassLoader {
    private final Map<String, byte[]> told =
        Map.of(
            SPARK, telling(SPARK, "SPARK_VERSION", "3.5.8"),
            SCALA, telling(SCALA, "versionNumberString", "2.12.18"));

    OldSpark(URL... classPath) {
      super(classPath, ClassLoader.getPlatformClassLoader());
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      byte[] stub = told.get(name);
      return stub == null ? super.findClass(name) : defineClass(name, stub, 0, stub.length);
    }

    private static byte[] telling(String name, String method, String version) {
      return new ByteBuddy()
          .subclass(Object.class)
          .name(name)
          .defineField("MODULE$", TargetType.class, Modifier.PUBLIC | Modifier.STATIC)
          .defineMethod(method, String.class, Modifier.PUBLIC | Modifier.STATIC)
          .intercept(FixedValue.value(version))
          .make()
          .getBytes();
    }
  }

  @Test
  void sparkOfAnotherScalaIsRefusedByItsVersion() throws Exception {
    URL[] classPath =
        Stream.of(
                UsageTrackingExtension.class,
                scala.Function1.class,
                ObjectMapper.class,
                JsonFactory.class,
                JsonProperty.class)
            .map(type -> type.getProtectionDomain().getCodeSource().getLocation())
            .toArray(URL[]::new);
    try (OldSpark spark = new OldSpark(classPath)) {
      Object extension =
          spark
              .loadClass(UsageTrackingExtension.class.getName())
              .getDeclaredConstructor()
              .newInstance();
      Class<?> function = spark.loadClass(scala.Function1.class.getName());

      Throwable refused =
          catchThrowableOfType(
                  InvocationTargetException.class,
                  () -> function.getMethod("apply", Object.class).invoke(extension, (Object) null))
              .getCause();

      assertThat(refused)
          .hasMessageContaining("[USAGE_TRACKING_UNSUPPORTED_SPARK_VERSION]")
          .hasMessageContaining("3.5.8 of Scala 2.12.18");
    }
  }
}
