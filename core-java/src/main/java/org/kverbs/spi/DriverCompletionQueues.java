package org.kverbs.spi;

/** Makes completion queues whose completions have fields that only the driver's own functions read. */
public interface DriverCompletionQueues extends DriverObjects {

    /** Returns the fields: {@link CompletionExtras#WITH_SOURCE_GID}, {@link CompletionExtras#WITH_UNSOLICITED}. */
    int fields();

    /**
     * Returns the functions that read the fields of the current completion.
     *
     * @param cq the address of the {@code struct ibv_cq_ex} that {@link #create} made
     */
    Readers readers(VerbsContext verbs, long cq);

    /**
     * The functions of a queue. They are called only between the start and the end of a poll.
     *
     * @param object the first argument of both
     * @param sourceGid the address of {@code int read(void *object, union ibv_gid *)}, which returns 0 if the GID is
     *     there; 0 without the field
     * @param unsolicited the address of {@code bool is(void *object)}; 0 without the field
     */
    record Readers(long object, long sourceGid, long unsolicited) {}
}
