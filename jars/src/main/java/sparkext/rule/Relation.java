// SPDX-License-Identifier: Apache-2.0
package sparkext.rule;

/**
 * What a table function answers.
 *
 * @param schema the columns as DDL
 * @param rows a JSON array of objects
 */
public record Relation(String schema, String rows) {}
