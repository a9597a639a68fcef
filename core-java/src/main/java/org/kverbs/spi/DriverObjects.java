package org.kverbs.spi;

import java.lang.foreign.MemorySegment;

/**
 * Makes objects by a driver's own call in place of that of libibverbs. A module that knows the driver implements it,
 * and {@code Context} and {@code ProtectionDomain} take it.
 */
public interface DriverObjects {

    /** Returns the name of the C function, for messages: {@code mlx5dv_create_cq}. */
    String function();

    /** Returns whole sentences that say which driver and which release of rdma-core have the call. */
    String needs();

    /**
     * Makes the object.
     *
     * @param verbs the open device; its {@code nativeAddress} is the {@code struct ibv_context *}
     * @param initAttributes {@code struct ibv_qp_init_attr_ex} or {@code struct ibv_cq_init_attr_ex}, filled from what
     *     the program asked for. The call may change it; the caller reads the {@code cap} of a queue pair from it
     * @return the address of the C structure, or -errno
     */
    long create(VerbsContext verbs, MemorySegment initAttributes);
}
