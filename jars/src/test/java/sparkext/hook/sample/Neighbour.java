// SPDX-License-Identifier: Apache-2.0
package sparkext.hook.sample;

/** Allows the weaver to define classes in this package. */
public final class Neighbour {
  private Neighbour() {}
}
