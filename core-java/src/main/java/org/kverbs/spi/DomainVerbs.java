package org.kverbs.spi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/**
 * Makes thread domains, and parent domains, which add one to a protection domain. {@link VerbsContext#deallocPd}
 * destroys a parent domain. Conventions as for {@link VerbsContext}.
 */
public interface DomainVerbs {

    /** The calls of a device without such domains. */
    DomainVerbs NONE = new DomainVerbs() {};

    /** Makes a thread domain, {@code struct ibv_td}, by {@code struct ibv_td_init_attr} ({@code ibv_alloc_td}). */
    default long allocThreadDomain(MemorySegment initAttributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Destroys a thread domain ({@code ibv_dealloc_td}). */
    default int deallocThreadDomain(long td) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Makes a parent domain, a {@code struct ibv_pd}, by {@code struct ibv_parent_domain_init_attr} ({@code
     * ibv_alloc_parent_domain}).
     */
    default long allocParentDomain(MemorySegment initAttributes) {
        return -Errno.EOPNOTSUPP;
    }

    /**
     * Makes a parent domain whose objects get their memory from an allocator of the program
     * (IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS).
     *
     * @param initAttributes {@code struct ibv_parent_domain_init_attr} without the allocator, which the provider adds
     * @param life the callbacks exist in it; the caller closes it after the domain was destroyed
     */
    default long allocParentDomain(MemorySegment initAttributes, QueueMemory memory, Arena life) {
        return -Errno.EOPNOTSUPP;
    }
}
