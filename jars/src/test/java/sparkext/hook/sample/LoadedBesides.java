// SPDX-License-Identifier: Apache-2.0
package sparkext.hook.sample;

/** A class to weave; a class can be defined only once, so each test has its own. */
public final class LoadedBesides {
  private LoadedBesides() {}

  public static Object features() {
    return "none";
  }
}
