// SPDX-License-Identifier: Apache-2.0
package sparkext.hook.sample;

import java.util.ArrayList;
import java.util.List;

/** A class with a method for each kind of advice. A negative number makes a method fail. */
public final class LoadedWithEveryAdvice {
  public final List<String> ran = new ArrayList<>();
  private final Object text = "text of the sample";
  private final Object number = 7L;

  public Object before(String name, long number) {
    return run("before", name, number);
  }

  public Object after(String name, long number) {
    return run("after", name, number);
  }

  public boolean isEmpty(String name, long number) {
    run("isEmpty", name, number);
    return true;
  }

  public Object atEnd(String name, long number) {
    return run("atEnd", name, number);
  }

  public Object around(String name, long number) {
    return run("around", name, number);
  }

  public Object instead(String name, long number) {
    return run("instead", name, number);
  }

  public void insteadOfNothing(String name, long number) {
    run("nothing", name, number);
  }

  public Object arguments(String name, long number) {
    return run("arguments", name, number);
  }

  private Object run(String method, String name, long number) {
    ran.add(method);
    if (number < 0) {
      throw new IllegalStateException(method + " failed");
    }
    return method + " " + name + " " + number;
  }
}
