// SPDX-License-Identifier: Apache-2.0
package sparkext.hook.sample;

/** A class to weave. Each test has another class, because a class can be defined only once. */
public final class LoadedBesides {
  private LoadedBesides() {}

  public static Object features() {
    return "none";
  }
}
