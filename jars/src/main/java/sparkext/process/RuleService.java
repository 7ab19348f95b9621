// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

/** What the Python process serves: {@code RuleService} in {@code spark_ext/process/__main__.py}. */
public interface RuleService {
  /** The answer to a question, both as JSON; whatever comes, it is not cast. */
  Object ask(String question, String request);
}
