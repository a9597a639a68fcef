package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.abi.IbvDeviceAttrEx;
import org.kverbs.internal.abi.VerbsContext;

/** The verbs that a driver or an older library can lack. */
final class OptionalVerbs {

    /** The verbs of the extension of a context, with the offsets of their pointers in {@code struct verbs_context}. */
    private static final Map<String, Integer> MEMBERS = Map.ofEntries(
            Map.entry("ibv_modify_cq", VerbsContext.MODIFY_CQ),
            Map.entry("ibv_query_rt_values_ex", VerbsContext.QUERY_RT_VALUES),
            Map.entry("ibv_modify_qp_rate_limit", VerbsContext.MODIFY_QP_RATE_LIMIT),
            Map.entry("ibv_alloc_td", VerbsContext.ALLOC_TD),
            Map.entry("ibv_alloc_parent_domain", VerbsContext.ALLOC_PARENT_DOMAIN),
            Map.entry("ibv_alloc_null_mr", VerbsContext.ALLOC_NULL_MR),
            Map.entry("ibv_alloc_dm", VerbsContext.ALLOC_DM),
            Map.entry("ibv_advise_mr", VerbsContext.ADVISE_MR),
            Map.entry("ibv_post_srq_ops", VerbsContext.POST_SRQ_OPS),
            Map.entry("ibv_open_xrcd", VerbsContext.OPEN_XRCD),
            // of type RAW_PACKET, which no pointer shows: without flow rules it would receive nothing
            Map.entry("ibv_create_qp", VerbsContext.IBV_CREATE_FLOW),
            Map.entry("ibv_create_flow", VerbsContext.IBV_CREATE_FLOW),
            Map.entry("ibv_create_flow_action_esp", VerbsContext.CREATE_FLOW_ACTION_ESP),
            Map.entry("ibv_create_counters", VerbsContext.CREATE_COUNTERS),
            Map.entry("ibv_create_wq", VerbsContext.CREATE_WQ));

    /**
     * The operations of extended queue pairs, with their bits of {@code device_cap_flags_ex}. They are functions of a
     * queue pair, so that neither the library nor the context shows them.
     */
    private static final Map<String, Long> OPERATIONS = Map.of(
            "ibv_wr_atomic_write", PlacementExtensions.DEVICE_ATOMIC_WRITE,
            "ibv_wr_flush", PlacementExtensions.DEVICE_FLUSH_GLOBAL | PlacementExtensions.DEVICE_FLUSH_PERSISTENT);

    private OptionalVerbs() {}

    /**
     * Returns whether the driver of a context has a verb, or, for a verb without a pointer, whether the library has.
     */
    static boolean areIn(String verb, ContextTables tables, Libibverbs library) {
        Long bits = OPERATIONS.get(verb);
        if (bits != null) {
            return (capabilities(tables) & bits) != 0;
        }
        Integer member = MEMBERS.get(verb);
        if (member == null) {
            return library.has(verb);
        }
        // The driver rxe uses the library's own function for the kernel's call, since rdma-core 59.
        return tables.has(member, library.own())
                || verb.equals("ibv_advise_mr") && tables.is(member, library.find("ibv_cmd_advise_mr"));
    }

    private static long capabilities(ContextTables tables) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvDeviceAttrEx.SIZE, Long.BYTES);
            int result = tables.queryDeviceEx(attributes);
            return result < 0 ? 0 : attributes.get(JAVA_LONG, IbvDeviceAttrEx.DEVICE_CAP_FLAGS_EX);
        }
    }
}
