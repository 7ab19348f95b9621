// SPDX-License-Identifier: Apache-2.0
package sparkext.process;

/** The interface of {@code RuleService} in {@code spark_ext/process/__main__.py}. */
public interface RuleService {
  /** Returns the answer to a question. Request and answer are JSON; py4j casts no result. */
  Object ask(String question, String request);
}
