// SPDX-License-Identifier: Apache-2.0
package sparkext.wire;

import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;

/**
 * One metadata change of a transaction, with what the rules must know of its session.
 *
 * @param protocol the transaction's protocol
 * @param old the table's metadata before the transaction; of a new table, the session's defaults
 * @param proposed what the command asked for
 * @param assigned {@code proposed} with ids and physical names as Delta assigned them
 * @param creatingTable whether the command creates or replaces the table
 * @param enabledByDefault the session's {@code spark.sparkext.usageTracking.enabledByDefault},
 *     where the command creates or replaces the table
 * @param featureDefault whether the session's defaults for new tables name the feature
 * @param flagDefault whether the session's defaults for new tables name the flag
 */
record MetadataChange(
    Protocol protocol,
    Metadata old,
    Metadata proposed,
    Metadata assigned,
    boolean creatingTable,
    boolean enabledByDefault,
    boolean featureDefault,
    boolean flagDefault) {}
