package org.kverbs;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Gives a driver the memory of the queues that it makes in a parent domain ({@code alloc} and {@code free} of {@code
 * struct ibv_parent_domain_init_attr}): to place it on a NUMA node, in huge pages, or in memory that is shared.
 * {@link ProtectionDomain#parentDomain(DomainAllocator)} takes it. In Kotlin it is a lambda:
 *
 * <pre>{@code
 * pd.parentDomain { size, alignment, _ -> arena.allocate(size, alignment) }
 * }</pre>
 *
 * <p>The driver calls it while it makes and destroys objects, on the thread that makes or closes them; so different
 * threads can call it at once. It must not call kverbs. Source: {@code man 3 ibv_alloc_parent_domain}.
 */
@FunctionalInterface
public interface DomainAllocator {

    /**
     * Allocates memory. kverbs fills its first {@code size} bytes with zeros, and keeps it reachable until {@link
     * #free}. A child process must not copy it on write: programs that fork take shared memory.
     *
     * @param size the number of bytes, at least
     * @param alignment what the address is a multiple of
     * @param resourceType what the memory is for: the number of the driver ({@code enum rdma_driver_id}) in the upper
     *     32 bits, and a number of the driver's own in the lower
     * @return off-heap memory, or null to let the driver allocate it ({@code IBV_ALLOCATOR_USE_DEFAULT}). If it throws,
     *     or if the memory does not fit, the call that needs the memory fails, and its exception says why
     */
    @Nullable MemorySegment allocate(long size, long alignment, long resourceType);

    /**
     * Takes memory back that {@link #allocate} gave, and that no device uses any more. Default: nothing, for memory of
     * an arena.
     *
     * @param memory what {@link #allocate} returned
     * @param resourceType as for {@link #allocate}
     */
    default void free(MemorySegment memory, long resourceType) {}
}
