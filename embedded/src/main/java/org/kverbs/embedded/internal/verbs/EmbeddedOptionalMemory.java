package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Dm;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.ImplicitRegion;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.objects.Mr;
import org.kverbs.embedded.internal.objects.NullRegion;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Quota;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvAllocDmAttr;
import org.kverbs.internal.abi.IbvDm;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.OptionalMemoryVerbs;

/**
 * The null region, device memory and advice of an open context. Each call takes the engine's lock. There are no
 * dma-bufs: only a native call maps one, and this device makes none.
 */
final class EmbeddedOptionalMemory implements OptionalMemoryVerbs {

    /** What a region of device memory can permit, as with mlx5. */
    private static final int DEVICE_ACCESS = IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE
            | IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE
            | IbvAccessFlags.IBV_ACCESS_REMOTE_READ
            | IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC
            | IbvAccessFlags.IBV_ACCESS_ZERO_BASED
            | PlacementExtensions.IBV_ACCESS_FLUSH_GLOBAL
            | IbvAccessFlags.IBV_ACCESS_RELAXED_ORDERING;

    private final Hca hca;
    private final DeviceCalls calls;
    private final Domains domains;
    private final MemoryVerbs regions;
    private final Advice advice;
    private final Handles<Dm> memories;

    EmbeddedOptionalMemory(Hca hca, Structures structures, Domains domains, MemoryVerbs regions) {
        this.hca = hca;
        this.calls = new DeviceCalls(hca);
        this.domains = domains;
        this.regions = regions;
        this.advice = new Advice(hca, domains);
        this.memories = new Handles<>(structures, IbvDm.SIZE, IbvDm.HANDLE, Quota.none());
    }

    Handles<Dm> memories() {
        return memories;
    }

    /** Frees all device memory; called with the lock held when the device is closed. */
    void close() {
        memories.forEach(this::free);
    }

    private void free(Dm memory) {
        hca.quotas.deviceMemory.giveBack(memory.memory.byteSize());
        memory.free();
    }

    @Override
    public long allocNullRegion(long pd) {
        return calls.make(Operation.ALLOCATE_NULL_REGION, () -> {
            Pd domain = domains.get(pd);
            return domain == null
                    ? -Errno.EINVAL : regions.add(pd, domain, (lkey, rkey, at) -> new NullRegion(domain, lkey, at));
        });
    }

    @Override
    public long allocDeviceMemory(MemorySegment attributes) {
        return calls.make(Operation.ALLOCATE_DEVICE_MEMORY, () -> allocate(
                Memory.getLong(attributes.address() + IbvAllocDmAttr.LENGTH),
                Memory.getInt(attributes.address() + IbvAllocDmAttr.LOG_ALIGN_REQ),
                Memory.getInt(attributes.address() + IbvAllocDmAttr.COMP_MASK)));
    }

    private long allocate(long length, int alignment, int mask) {
        if (length <= 0 || alignment < 0 || alignment > Limits.DEVICE_MEMORY_ALIGNMENT || mask != 0) {
            return -Errno.EINVAL;
        }
        int refusal = hca.quotas.deviceMemory.take(length);
        if (refusal < 0) {
            return refusal;
        }
        Arena arena = Arena.ofShared();
        long structure = 0;
        try {
            MemorySegment memory = arena.allocate(length, 1L << alignment);
            structure = memories.add(at -> new Dm(arena, memory));
            return structure;
        } finally {
            if (structure <= 0) {
                arena.close();
                hca.quotas.deviceMemory.giveBack(length);
            }
        }
    }

    @Override
    public int freeDeviceMemory(long dm) {
        return calls.call(Operation.FREE_DEVICE_MEMORY, () -> {
            Dm memory = memories.get(dm);
            if (memory == null || memories.isImported(dm) || memory.regions > 0) {
                return memory == null || memories.isImported(dm) ? -Errno.EINVAL : -Errno.EBUSY;
            }
            memories.remove(dm);
            free(memory);
            return 0;
        });
    }

    @Override
    public int copyToDeviceMemory(long dm, long offset, MemorySegment source) {
        return copy(dm, offset, source, true);
    }

    @Override
    public int copyFromDeviceMemory(MemorySegment target, long dm, long offset) {
        return copy(dm, offset, target, false);
    }

    /** Copies words of 4 bytes: a program that runs here runs on mlx5. */
    private int copy(long dm, long offset, MemorySegment other, boolean intoDevice) {
        return calls.call(Operation.COPY_DEVICE_MEMORY, () -> {
            Dm memory = memories.get(dm);
            long length = other.byteSize();
            if (memory == null) {
                return -Errno.EINVAL;
            }
            if (offset < 0 || offset > memory.memory.byteSize() || length > memory.memory.byteSize() - offset) {
                return -Errno.EFAULT;
            }
            if ((offset & 3) != 0 || (length & 3) != 0) {
                return Refusal.because(Errno.EINVAL, "Device memory is copied in words of 4 bytes, here and on mlx5:"
                        + " offset " + offset + " and length " + length + " must be multiples of 4.");
            }
            MemorySegment part = memory.memory.asSlice(offset, length);
            if (intoDevice) {
                part.copyFrom(other);
            } else {
                other.copyFrom(part);
            }
            if (other.isMapped()) {
                Memory.throwPending(); // here, and not where the lock is released and other queue pairs work
            }
            return 0;
        });
    }

    @Override
    public long registerDeviceMemory(long pd, long dm, long offset, long length, int access) {
        return calls.make(Operation.REGISTER_DEVICE_MEMORY, () -> {
            Pd domain = domains.get(pd);
            Dm memory = memories.get(dm);
            if (domain == null || memory == null || length <= 0 || (access & ~DEVICE_ACCESS) != 0
                    || (access & IbvAccessFlags.IBV_ACCESS_ZERO_BASED) == 0 || !MemoryVerbs.isAccess(access)
                    || offset < 0 || offset > memory.memory.byteSize()
                    || length > memory.memory.byteSize() - offset) {
                return -Errno.EINVAL;
            }
            MemorySegment part = memory.memory.asSlice(offset, length);
            long structure = regions.add(pd, domain, (lkey, rkey, at) -> {
                var region = new Mr(domain, lkey, rkey, at, part, 0, access);
                region.deviceMemory = memory;
                return region;
            });
            memory.regions += structure > 0 ? 1 : 0;
            return structure;
        });
    }

    @Override
    public int adviseMemory(long pd, int kind, int flags, MemorySegment entries) {
        return calls.call(Operation.ADVISE_MEMORY, () -> advice.give(pd, kind, flags, entries));
    }

    @Override
    public void willUse(long implicitRegion, MemorySegment memory) {
        calls.run(() -> {
            if (regions.region(implicitRegion) instanceof ImplicitRegion region) {
                region.willUse(memory);
            }
        });
    }
}
