package org.kverbs.spi;

/**
 * The allocator of a parent domain, which a driver calls back while it makes and destroys objects. No method throws.
 * Different threads can call it at once.
 */
public interface QueueMemory {

    /** {@code IBV_ALLOCATOR_USE_DEFAULT}: the driver allocates the memory itself. */
    long DEFAULT = -1;

    /** Returns the address of zeroed memory, {@link #DEFAULT}, or 0 for an error. */
    long allocate(long size, long alignment, long resourceType);

    /** Takes memory back that {@link #allocate} gave. */
    void free(long address, long resourceType);
}
