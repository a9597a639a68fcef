package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.abi.IbvParentDomainInitAttr;
import org.kverbs.spi.DomainVerbs;

/** Makes the parent domains of a protection domain. */
final class ParentDomains {

    private ParentDomains() {}

    /** See {@link ProtectionDomain#parentDomain(ThreadDomain, DomainAllocator)}. */
    static ProtectionDomain make(
            ProtectionDomain pd, @Nullable ThreadDomain threads, @Nullable DomainAllocator allocator) {
        if (threads != null && threads.context() != pd.context()) {
            throw new IllegalArgumentException(threads.describe() + " belongs to another open device than "
                    + pd.describe() + "; make both from the same context");
        }
        return allocator == null ? make(pd, threads, null, null) : makeWith(pd, threads, allocator);
    }

    private static ProtectionDomain makeWith(
            ProtectionDomain pd, @Nullable ThreadDomain threads, DomainAllocator allocator) {
        Arena callbacks = Arena.ofShared();
        boolean made = false;
        try {
            ProtectionDomain domain = make(pd, threads, allocator, callbacks);
            made = true;
            return domain;
        } finally {
            if (!made) {
                callbacks.close();
            }
        }
    }

    private static ProtectionDomain make(
            ProtectionDomain pd,
            @Nullable ThreadDomain threads,
            @Nullable DomainAllocator allocator,
            @Nullable Arena callbacks) {
        Context context = pd.context();
        DomainVerbs verbs = context.verbs.domains();
        Feature feature = callbacks == null ? Feature.PARENT_DOMAIN : Feature.DOMAIN_ALLOCATOR;
        String operation = "ibv_alloc_parent_domain(" + context.device().name()
                + (callbacks == null ? ")" : ", with an allocator)");
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = arena.allocate(IbvParentDomainInitAttr.SIZE, JAVA_LONG.byteAlignment());
            // drivers differ in nested parent domains
            init.set(JAVA_LONG, IbvParentDomainInitAttr.PD, pd.root().handle());
            init.set(JAVA_LONG, IbvParentDomainInitAttr.TD, threads == null ? 0 : threads.handle());
            return Resource.create(
                    errno -> context.refusal(feature, operation, errno),
                    () -> allocator == null || callbacks == null
                            ? verbs.allocParentDomain(init)
                            : verbs.allocParentDomain(init, new LentQueueMemory(allocator), callbacks),
                    h -> ProtectionDomain.ofParent(pd, threads, callbacks, h),
                    threads == null ? new Resource[] {pd} : new Resource[] {pd, threads});
        }
    }
}
