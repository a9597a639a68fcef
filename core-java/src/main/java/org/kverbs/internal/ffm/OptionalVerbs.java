package org.kverbs.internal.ffm;

import java.util.Map;
import org.kverbs.internal.abi.VerbsContext;

/** The verbs that a driver or an older library can lack. */
final class OptionalVerbs {

    /** The verbs of the extension of a context, with the offsets of their pointers in {@code struct verbs_context}. */
    private static final Map<String, Integer> MEMBERS = Map.of(
            "ibv_modify_cq", VerbsContext.MODIFY_CQ,
            // of type RAW_PACKET, which no pointer shows: without flow rules it would receive nothing
            "ibv_create_qp", VerbsContext.IBV_CREATE_FLOW,
            "ibv_create_flow", VerbsContext.IBV_CREATE_FLOW,
            "ibv_create_counters", VerbsContext.CREATE_COUNTERS);

    private OptionalVerbs() {}

    /**
     * Returns whether the driver of a context has a verb, or, for a verb without a pointer, whether the library has.
     */
    static boolean areIn(String verb, ContextTables tables, Libibverbs library) {
        Integer member = MEMBERS.get(verb);
        return member == null ? library.has(verb) : tables.has(member, library.own());
    }
}
