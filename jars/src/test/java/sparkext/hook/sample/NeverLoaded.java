// SPDX-License-Identifier: Apache-2.0
package sparkext.hook.sample;

/** A class that no JVM can define once it is changed, and that must not be loaded unchanged. */
public final class NeverLoaded {
  private NeverLoaded() {}

  public static Object features() {
    return "none";
  }
}
