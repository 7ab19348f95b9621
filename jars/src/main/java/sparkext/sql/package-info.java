// SPDX-License-Identifier: Apache-2.0
/**
 * Table functions: finds the table of a call, and returns the rows of the rule process as a
 * relation.
 *
 * <p>This is Java, because Spark's analyzer and optimizer run this code while they plan a query.
 */
package sparkext.sql;
