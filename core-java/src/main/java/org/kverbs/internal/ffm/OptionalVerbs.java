package org.kverbs.internal.ffm;

import java.util.Map;
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
            Map.entry("ibv_open_xrcd", VerbsContext.OPEN_XRCD));

    private OptionalVerbs() {}

    /** Returns whether the driver of a context has a verb, or, for a verb without a pointer, whether the library has. */
    static boolean areIn(String verb, ContextTables tables, Libibverbs library) {
        Integer member = MEMBERS.get(verb);
        return member == null ? library.has(verb) : tables.has(member, library.own());
    }
}
