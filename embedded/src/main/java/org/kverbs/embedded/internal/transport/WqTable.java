package org.kverbs.embedded.internal.transport;

import java.util.Arrays;

/** An indirection table ({@code struct ibv_rwq_ind_table}). Guarded by the engine's lock. */
public final class WqTable {

    private final Wq[] entries;
    /** The number of queue pairs that have the table. */
    public int users;

    /** @param entries the work queues by index; their number is a power of 2 */
    public WqTable(Wq... entries) {
        this.entries = entries.clone();
    }

    /** Counts the table as a user of its work queues, or uncounts it. */
    public void countUsers(int more) {
        Arrays.stream(entries).forEach(each -> each.users += more);
    }

    /** Returns the work queue at the index that the lower bits of a hash are. */
    Wq at(int hash) {
        return entries[hash & entries.length - 1];
    }
}
