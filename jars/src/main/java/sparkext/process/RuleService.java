// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

/** The interface of {@code RuleService} in {@code spark_ext/process/__main__.py}. */
public interface RuleService {
  /** Returns the answer to a question, both as JSON; py4j does not cast the result. */
  Object ask(String question, String request);
}
