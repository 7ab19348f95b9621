// SPDX-License-Identifier: Apache-2.0
package sparkext.hook.sample;

/** A class with two woven methods. */
public final class LoadedWithTwoHooks {
  private LoadedWithTwoHooks() {}

  public static Object features() {
    return "none";
  }

  public static Object properties() {
    return "none";
  }
}
