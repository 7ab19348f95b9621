// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import org.apache.spark.SparkEnv;
import org.apache.spark.serializer.DeserializationStream;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.serializer.SerializerInstance;
import scala.reflect.ClassTag;

/**
 * Serializes tasks, but no closure alone: Spark tries each closure, and then serializes it again in
 * its task.
 */
public class QuickClosures extends Serializer {
  private final Serializer spark;

  private QuickClosures(Serializer spark) {
    this.spark = spark;
  }

  /** Replaces the serializer of closures and tasks of the running Spark. */
  public static void install() throws ReflectiveOperationException {
    SparkEnv env = SparkEnv.get();
    Field field = SparkEnv.class.getDeclaredField("closureSerializer");
    field.setAccessible(true);
    field.set(env, new QuickClosures((Serializer) field.get(env)));
  }

  @Override
  public SerializerInstance newInstance() {
    SerializerInstance instance = spark.newInstance();
    return new SerializerInstance() {
      @Override
      public <T> ByteBuffer serialize(T value, ClassTag<T> tag) {
        // The class of a lambda is hidden. A task is serialized as a tuple.
        return value.getClass().isHidden()
            ? ByteBuffer.allocate(0)
            : instance.serialize(value, tag);
      }

      @Override
      public <T> T deserialize(ByteBuffer bytes, ClassTag<T> tag) {
        return instance.deserialize(bytes, tag);
      }

      @Override
      public <T> T deserialize(ByteBuffer bytes, ClassLoader loader, ClassTag<T> tag) {
        return instance.deserialize(bytes, loader, tag);
      }

      @Override
      public SerializationStream serializeStream(OutputStream stream) {
        return instance.serializeStream(stream);
      }

      @Override
      public DeserializationStream deserializeStream(InputStream stream) {
        return instance.deserializeStream(stream);
      }
    };
  }
}
