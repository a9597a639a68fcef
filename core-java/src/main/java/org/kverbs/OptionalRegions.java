package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.DeviceAttributesEx;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.MemoryAdvice;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbUverbsAdviseMrFlag;
import org.kverbs.internal.abi.IbvDeviceAttrEx;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.OptionalMemoryVerbs;

/** Makes the regions of a protection domain that not every device has. */
final class OptionalRegions {

    /** The length that {@code man 3 ibv_reg_mr} names for an implicit region: SIZE_MAX. */
    private static final long WHOLE_ADDRESS_SPACE = -1;

    private OptionalRegions() {}

    static MemoryRegion nullRegion(ProtectionDomain pd) {
        String operation = "ibv_alloc_null_mr(" + pd.context().device().name() + ")";
        return make(
                pd, RegionKind.NULL, Long.MAX_VALUE, 0, 0, optional(pd, Feature.NULL_REGION, operation),
                () -> verbs(pd).allocNullRegion(pd.handle()));
    }

    static MemoryRegion implicitRegion(ProtectionDomain pd, int access) {
        int mask = access | AccessFlag.ON_DEMAND.bit();
        AccessFlags.requireConsistent(mask);
        String operation = "ibv_reg_mr(%s, addr=0x0, length=SIZE_MAX, access=%s)"
                .formatted(pd.context().device().name(), AccessFlag.of(mask));
        return make(
                pd, RegionKind.IMPLICIT, Long.MAX_VALUE, 0, mask, onDemand(pd, mask, operation, () -> "", true),
                () -> pd.context().verbs.registerMemory(pd.handle(), 0, WHOLE_ADDRESS_SPACE, 0, mask));
    }

    static MemoryRegion deviceMemory(ProtectionDomain pd, DeviceMemory memory, long offset, long length, int access) {
        if (memory.context() != pd.context()) {
            throw new IllegalArgumentException(memory.describe() + " belongs to another open device than "
                    + pd.describe() + "; make both from the same context");
        }
        Ranges.requirePart("the device memory", offset, length, memory.length());
        Ranges.require("length", length, 1, Long.MAX_VALUE);
        int mask = access | AccessFlag.ZERO_BASED.bit(); // every driver requires it
        AccessFlags.requireConsistent(mask);
        String operation = "ibv_reg_dm_mr(%s, dm_offset=%d, length=%d, access=%s)"
                .formatted(pd.context().device().name(), offset, length, AccessFlag.of(mask));
        return make(
                pd, RegionKind.DEVICE, length, 0, mask, optional(pd, Feature.DEVICE_MEMORY, operation),
                () -> verbs(pd).registerDeviceMemory(pd.handle(), memory.handle(), offset, length, mask), memory);
    }

    static MemoryRegion dmabuf(ProtectionDomain pd, int fd, long offset, long length, long iova, int access) {
        Ranges.require("fd", fd, 0, Integer.MAX_VALUE);
        Ranges.require("offset", offset, 0, Long.MAX_VALUE);
        Ranges.require("length", length, 1, Long.MAX_VALUE - offset);
        AccessFlags.requireConsistent(access);
        String operation = "ibv_reg_dmabuf_mr(%s, offset=%d, length=%d, iova=0x%x, fd=%d, access=%s)"
                .formatted(pd.context().device().name(), offset, length, iova, fd, AccessFlag.of(access));
        return make(
                pd, RegionKind.DMABUF, length, iova, access, optional(pd, Feature.DMABUF, operation),
                () -> verbs(pd).registerDmabuf(pd.handle(), offset, length, iova, fd, access));
    }

    static void advise(ProtectionDomain pd, MemoryAdvice advice, boolean waits, MemorySlice... slices) {
        Ranges.require("the number of slices", slices.length, 1, Integer.MAX_VALUE);
        String operation = "ibv_advise_mr(%s, %s, flags=%s, num_sge=%d)"
                .formatted(pd.context().device().name(), advice, waits ? "FLUSH" : "0", slices.length);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment entries = arena.allocate((long) slices.length * IbvSge.SIZE, Long.BYTES);
            for (int i = 0; i < slices.length; i++) {
                MemorySegment entry = entries.asSlice((long) i * IbvSge.SIZE, IbvSge.SIZE);
                entry.set(JAVA_LONG, IbvSge.ADDR, slices[i].address());
                entry.set(JAVA_INT, IbvSge.LENGTH, (int) slices[i].length());
                entry.set(JAVA_INT, IbvSge.LKEY, slices[i].lkey());
            }
            int flags = waits ? IbUverbsAdviseMrFlag.IB_UVERBS_ADVISE_MR_FLAG_FLUSH : 0;
            pd.command(
                    optional(pd, Feature.MEMORY_ADVICE, operation),
                    () -> verbs(pd).adviseMemory(pd.handle(), advice.code(), flags, entries));
        }
    }

    /**
     * Makes the exceptions of a registration. A device that cannot page on demand refuses with EOPNOTSUPP or, with an
     * older kernel, with EINVAL.
     */
    static IntFunction<RuntimeException> onDemand(
            ProtectionDomain pd, int access, String operation, Supplier<String> excess, boolean isImplicit) {
        return errno -> {
            boolean isDoubtful = (access & AccessFlag.ON_DEMAND.bit()) != 0
                    && (SystemErrors.isMissing(errno) || errno == Errno.EINVAL);
            if (isDoubtful && !pagesOnDemand(pd, isImplicit, errno)) {
                return pd.context().refusal(Feature.ON_DEMAND_PAGING, operation, Errno.EOPNOTSUPP);
            }
            return SystemErrors.refused(operation, errno, excess);
        };
    }

    /** Asks the device. The caller has entered the guard of an object of this context. */
    private static boolean pagesOnDemand(ProtectionDomain pd, boolean isImplicit, int errno) {
        String reason = Refusal.take(errno); // the query must not replace it
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvDeviceAttrEx.SIZE, JAVA_LONG.byteAlignment());
            if (pd.context().verbs.queryDeviceEx(attributes) < 0) {
                return false;
            }
            DeviceAttributesEx.OnDemandPaging paging = Structures.DEVICE_EX.read(attributes).onDemandPaging();
            return isImplicit ? paging.isImplicitSupported() : paging.isSupported();
        } finally {
            if (reason != null) {
                Refusal.because(errno, reason);
            }
        }
    }

    private static IntFunction<RuntimeException> optional(ProtectionDomain pd, Feature feature, String operation) {
        return errno -> pd.context().refusal(feature, operation, errno);
    }

    private static MemoryRegion make(
            ProtectionDomain pd, RegionKind kind, long length, long requestAddress, int access,
            IntFunction<RuntimeException> refusal, LongSupplier call, Resource... more) {
        var parents = new Resource[1 + more.length];
        parents[0] = pd;
        System.arraycopy(more, 0, parents, 1, more.length);
        return Resource.create(
                refusal,
                call,
                h -> new MemoryRegion(
                        pd, h, kind, length, requestAddress, access, new Lifetime(Turn.MEMORY, lifetimes(parents))),
                parents);
    }

    private static Lifetime[] lifetimes(Resource... parents) {
        var lifetimes = new Lifetime[parents.length];
        for (int i = 0; i < parents.length; i++) {
            lifetimes[i] = parents[i].lifetime;
        }
        return lifetimes;
    }

    private static OptionalMemoryVerbs verbs(ProtectionDomain pd) {
        return pd.context().verbs.optionalMemory();
    }
}
