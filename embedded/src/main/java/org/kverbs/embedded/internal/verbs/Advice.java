package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Mr;
import org.kverbs.embedded.internal.objects.PageTable;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbUverbsAdviseMrAdvice;
import org.kverbs.internal.abi.IbUverbsAdviseMrFlag;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.memory.Memory;

/**
 * Follows advice on regions that are paged on demand (man 3 ibv_advise_mr), at once, whether the program waits or not.
 * Called with the lock held.
 */
final class Advice {

    private final Hca hca;
    private final Domains domains;

    Advice(Hca hca, Domains domains) {
        this.hca = hca;
        this.domains = domains;
    }

    /** Returns 0 or -errno. Advice that is refused for one entry changes nothing for the others. */
    int give(long pd, int advice, int flags, MemorySegment entries) {
        Pd domain = domains.get(pd);
        long count = entries.byteSize() / IbvSge.SIZE;
        if (domain == null || (flags & ~IbUverbsAdviseMrFlag.IB_UVERBS_ADVISE_MR_FLAG_FLUSH) != 0 || count == 0) {
            return -Errno.EINVAL;
        }
        if (advice < IbUverbsAdviseMrAdvice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH
                || advice > IbUverbsAdviseMrAdvice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) {
            return -Errno.EOPNOTSUPP;
        }
        boolean writes = advice == IbUverbsAdviseMrAdvice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;
        for (long i = 0; i < count; i++) {
            int refusal = check(domain, entries.address() + i * IbvSge.SIZE, writes);
            if (refusal < 0) {
                return refusal;
            }
        }
        boolean faults = advice != IbUverbsAdviseMrAdvice.IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
        for (long i = 0; i < count; i++) {
            long fetched = fetch(entries.address() + i * IbvSge.SIZE, writes, faults);
            if (fetched < 0) {
                return -Errno.EOPNOTSUPP; // this system does not tell which pages are in memory
            }
            hca.counters.count(Counter.PAGE_PREFETCH, fetched);
        }
        return 0;
    }

    private int check(Pd domain, long entry, boolean writes) {
        Mr region = region(entry);
        if (region == null) {
            return Refusal.because(Errno.ENOENT, "No region has the lkey of a slice: its region was closed.");
        }
        if (!region.pd.protects(domain)) {
            return Refusal.because(Errno.EPERM, "The region of a slice belongs to another protection domain.");
        }
        PageTable pages = region.pages();
        if (pages == null) {
            return Refusal.because(Errno.EINVAL, "The region of a slice is not paged on demand: register it with"
                    + " ON_DEMAND. The pages of other regions are there always.");
        }
        if (writes && (region.access & IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE) == 0) {
            return Refusal.because(Errno.EPERM, "PREFETCH_WRITE needs a region with LOCAL_WRITE.");
        }
        long bytes = length(entry);
        long at = place(region, entry);
        if (at < 0 || !pages.isMapped(at, bytes, writes)) {
            return Refusal.because(Errno.EFAULT, "A part of a slice is outside its region, is not mapped, or was"
                    + " freed by the program.");
        }
        return 0;
    }

    private long fetch(long entry, boolean writes, boolean faults) {
        Mr region = region(entry);
        PageTable pages = region == null ? null : region.pages();
        if (region == null || pages == null || length(entry) == 0) {
            return 0;
        }
        long at = place(region, entry);
        return faults
                ? Math.max(0, pages.fetch(at, length(entry), writes)) : pages.fetchPresent(at, length(entry));
    }

    private @Nullable Mr region(long entry) {
        return hca.keys.region(Memory.getInt(entry + IbvSge.LKEY));
    }

    private static long place(Mr region, long entry) {
        return region.place(Memory.getLong(entry + IbvSge.ADDR), length(entry));
    }

    private static long length(long entry) {
        return Integer.toUnsignedLong(Memory.getInt(entry + IbvSge.LENGTH));
    }
}
