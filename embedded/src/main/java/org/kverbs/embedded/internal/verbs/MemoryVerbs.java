package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.ImplicitRegion;
import org.kverbs.embedded.internal.objects.Mr;
import org.kverbs.embedded.internal.objects.Mw;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvMr;
import org.kverbs.internal.abi.IbvMw;
import org.kverbs.internal.abi.IbvMwType;
import org.kverbs.internal.abi.IbvReregMrFlags;
import org.kverbs.internal.memory.Memory;

/** Makes and finds the memory regions and windows of an open context; called with the lock held. */
final class MemoryVerbs {

    private static final int REMOTE_WRITES = IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE
            | IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC;
    private static final int KNOWN_ACCESS = REMOTE_WRITES
            | IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE
            | IbvAccessFlags.IBV_ACCESS_REMOTE_READ
            | IbvAccessFlags.IBV_ACCESS_MW_BIND
            | IbvAccessFlags.IBV_ACCESS_ZERO_BASED
            | IbvAccessFlags.IBV_ACCESS_ON_DEMAND
            | IbvAccessFlags.IBV_ACCESS_HUGETLB
            | PlacementExtensions.IBV_ACCESS_FLUSH_GLOBAL
            | IbvAccessFlags.IBV_ACCESS_RELAXED_ORDERING;

    /** No system maps memory below this address: a null pointer plus an offset ends here. */
    private static final long LOWEST_ADDRESS = 1 << 16;

    private final Hca hca;
    private final Domains domains;
    private final Handles<Mr> regions;
    private final Handles<Mw> windows;

    MemoryVerbs(Hca hca, Structures structures, Domains domains) {
        this.hca = hca;
        this.domains = domains;
        this.regions = new Handles<>(structures, IbvMr.SIZE, IbvMr.HANDLE, hca.quotas.regions);
        this.windows = new Handles<>(structures, IbvMw.SIZE, IbvMw.HANDLE, hca.quotas.windows);
    }

    @Nullable Mr region(long mr) {
        return regions.get(mr);
    }

    @Nullable Mw window(long mw) {
        return windows.get(mw);
    }

    Handles<Mr> regions() {
        return regions;
    }

    Handles<Mw> windows() {
        return windows;
    }

    /** Ends all keys; called when the device is closed. */
    void close() {
        regions.forEach(region -> {
            hca.keys.remove(region);
            hca.quotas.lockedBytes.giveBack(region.pinned());
        });
        windows.forEach(hca.keys::remove);
    }

    long register(long pd, MemorySegment range, long iova, int access) {
        long address = range.address();
        long length = range.byteSize();
        Pd domain = domains.get(pd);
        if (domain == null || !isAccess(access)) {
            return refuseAccess(access);
        }
        if (address >= 0 && address < LOWEST_ADDRESS) {
            return -Errno.EFAULT; // memory that is not mapped above this address fails only when it is used
        }
        long first = (access & IbvAccessFlags.IBV_ACCESS_ZERO_BASED) == 0 ? iova : 0;
        boolean isPaged = (access & IbvAccessFlags.IBV_ACCESS_ON_DEMAND) != 0;
        long pinned = isPaged ? 0 : length;
        int refusal = hca.quotas.lockedBytes.take(pinned);
        if (refusal < 0) {
            return refusal;
        }
        long structure = 0;
        try {
            structure = add(pd, domain, (lkey, rkey, at) -> new Mr(
                    domain, lkey, rkey, at, range, first, access, isPaged ? hca.addressSpace : null));
        } finally {
            if (structure <= 0) {
                hca.quotas.lockedBytes.giveBack(pinned);
            }
        }
        return structure;
    }

    /** Makes a region that stands for the whole address space. */
    long registerImplicit(long pd, int access) {
        Pd domain = domains.get(pd);
        int alone = IbvAccessFlags.IBV_ACCESS_ZERO_BASED | IbvAccessFlags.IBV_ACCESS_HUGETLB;
        if (domain == null || !isAccess(access) || (access & alone) != 0
                || (access & IbvAccessFlags.IBV_ACCESS_ON_DEMAND) == 0) {
            return -Errno.EINVAL;
        }
        return add(pd, domain, (lkey, rkey, at) -> new ImplicitRegion(
                domain, lkey, rkey, at, access, hca.addressSpace, hca.engine));
    }

    /** Makes a region of a kind. */
    interface Maker {
        Mr make(int lkey, int rkey, long structure);
    }

    /** Adds a region with its structure and its keys. Returns the structure's address, or -errno. */
    long add(long pd, Pd domain, Maker maker) {
        int rkey = hca.keys.fresh();
        int lkey = hca.keys.freshLocal(rkey);
        long structure = regions.add(at -> maker.make(lkey, rkey, at));
        if (structure > 0) {
            Mr region = regions.require(structure);
            hca.keys.add(region);
            domain.users++;
            Memory.putLong(structure + IbvMr.PD, pd);
            Memory.putLong(structure + IbvMr.ADDR, region.deviceMemory == null ? region.base : 0);
            Memory.putLong(structure + IbvMr.LENGTH, region.length);
            Memory.putInt(structure + IbvMr.LKEY, region.lkey);
            Memory.putInt(structure + IbvMr.RKEY, region.key);
        }
        return structure;
    }

    private int refuseAccess(int access) {
        return (access & PlacementExtensions.IBV_ACCESS_FLUSH_PERSISTENT) == 0
                ? -Errno.EINVAL
                : Refusal.because(
                        Errno.EINVAL, hca.name + " flushes to global visibility only: leave out FLUSH_PERSISTENT.");
    }

    /** Checks access flags: a region that peers may write to must permit local writes (man 3 ibv_reg_mr). */
    static boolean isAccess(int access) {
        boolean writable = (access & IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE) != 0;
        return (access & ~KNOWN_ACCESS) == 0 && (writable || (access & REMOTE_WRITES) == 0);
    }

    int reregister(long mr, int flags, long pd, MemorySegment range, int access) {
        Mr region = regions.get(mr);
        boolean changesPd = (flags & IbvReregMrFlags.IBV_REREG_MR_CHANGE_PD) != 0;
        boolean changesAccess = (flags & IbvReregMrFlags.IBV_REREG_MR_CHANGE_ACCESS) != 0;
        Pd domain = changesPd ? domains.get(pd) : null;
        if (region == null
                || (flags & ~IbvReregMrFlags.IBV_REREG_MR_FLAGS_SUPPORTED) != 0
                || changesPd && domain == null
                || changesAccess && !isAccess(access)) {
            return -Errno.EINVAL;
        }
        if (region.windows > 0) {
            return -Errno.EBUSY;
        }
        boolean wasPaged = (region.access & IbvAccessFlags.IBV_ACCESS_ON_DEMAND) != 0;
        boolean isPaged = changesAccess ? (access & IbvAccessFlags.IBV_ACCESS_ON_DEMAND) != 0 : wasPaged;
        if (wasPaged != isPaged || !region.isOfProgram()) {
            return -Errno.EINVAL;
        }
        boolean moves = (flags & IbvReregMrFlags.IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
        int refusal = moves && !isPaged ? hca.quotas.lockedBytes.take(range.byteSize() - region.length) : 0;
        if (refusal < 0) {
            return refusal;
        }
        changed(region);
        if (domain != null) {
            region.pd.users--;
            domain.users++;
            region.pd = domain;
            Memory.putLong(mr + IbvMr.PD, pd);
        }
        if (changesAccess) {
            region.changeAccess(access);
        }
        if (moves) {
            region.moveTo(range);
            Memory.putLong(mr + IbvMr.ADDR, region.base);
            Memory.putLong(mr + IbvMr.LENGTH, region.length);
        }
        return 0;
    }

    int deregister(long mr) {
        Mr region = regions.get(mr);
        if (region == null || regions.isImported(mr) || region.windows > 0) {
            return region == null || regions.isImported(mr) ? -Errno.EINVAL : -Errno.EBUSY;
        }
        changed(region);
        hca.keys.remove(region);
        region.pd.users--;
        hca.quotas.lockedBytes.giveBack(region.pinned());
        if (region.deviceMemory != null) {
            region.deviceMemory.regions--;
        }
        regions.remove(mr);
        return 0;
    }

    private void changed(Mr region) {
        if (hca.watch != null) {
            hca.watch.regionClosed(region);
        }
    }

    long allocWindow(long pd, int type) {
        Pd domain = domains.get(pd);
        if (domain == null || type != IbvMwType.IBV_MW_TYPE_1 && type != IbvMwType.IBV_MW_TYPE_2) {
            return -Errno.EINVAL;
        }
        long structure = windows.add(at -> new Mw(domain, hca.keys.fresh(), at, type));
        if (structure > 0) {
            Mw window = windows.require(structure);
            hca.keys.add(window);
            domain.users++;
            Memory.putLong(structure + IbvMw.PD, pd);
            Memory.putInt(structure + IbvMw.RKEY, window.key);
            Memory.putInt(structure + IbvMw.TYPE, type);
        }
        return structure;
    }

    int deallocWindow(long mw) {
        Mw window = windows.get(mw);
        if (window == null) {
            return -Errno.EINVAL;
        }
        window.unbind();
        hca.keys.remove(window);
        window.pd.users--;
        windows.remove(mw);
        return 0;
    }
}
