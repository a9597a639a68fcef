package org.kverbs.embedded.internal.verbs;

import java.util.Set;
import org.kverbs.embedded.internal.transport.Hca;

/** The optional calls of the C library that an embedded device has. */
final class PresentVerbs {

    /** What a device of libibverbs can lack, and this one has. */
    private static final Set<String> OPTIONAL = Set.of(
            "ibv_modify_cq",
            "ibv_query_rt_values_ex",
            "ibv_alloc_td",
            "ibv_alloc_parent_domain",
            "ibv_query_port_speed",
            "ibv_modify_qp_rate_limit",
            "ibv_alloc_null_mr",
            "ibv_alloc_dm",
            "ibv_advise_mr",
            "ibv_import_pd",
            "ibv_create_comp_cntr",
            "ibv_post_srq_ops",
            "ibv_open_xrcd",
            "ibv_wr_atomic_write",
            "ibv_wr_flush");
    /** What the devices in this process have, and those on UDP sockets lack. */
    private static final Set<String> OF_FRAMES =
            Set.of(
                    "ibv_create_qp",
                    "ibv_create_flow",
                    "ibv_create_flow_action_esp",
                    "ibv_create_counters",
                    "ibv_create_wq");

    private PresentVerbs() {}

    /** Tells whether a device has a call; called with the lock held. */
    static boolean has(Hca hca, String verb) {
        return OPTIONAL.contains(verb) || OF_FRAMES.contains(verb) && hca.link.carriesFrames();
    }
}
