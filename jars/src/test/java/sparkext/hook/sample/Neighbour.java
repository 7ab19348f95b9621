// SPDX-License-Identifier: Apache-2.0
package sparkext.hook.sample;

/** Lends the right to define classes in this package. */
public final class Neighbour {
  private Neighbour() {}
}
