// SPDX-License-Identifier: Apache-2.0
package sparkext.hook.sample;

/** A class that no JVM can define after weaving, and that must not be loaded without weaving. */
public final class NeverLoaded {
  private NeverLoaded() {}

  public static Object features() {
    return "none";
  }
}
