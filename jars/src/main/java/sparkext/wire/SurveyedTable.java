// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

/**
 * A table of a survey.
 *
 * @param name its full name
 * @param facts what {@link RequestJson#tableFacts} says of it; null where it cannot be read
 * @param error the condition of the error then, else null
 * @param message what the error says, else null
 */
public record SurveyedTable(String name, String facts, String error, String message) {}
