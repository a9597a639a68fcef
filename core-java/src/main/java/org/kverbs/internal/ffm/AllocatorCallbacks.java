package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.kverbs.internal.abi.IbvParentDomainInitAttr;
import org.kverbs.internal.abi.IbvParentDomainInitAttrMask;
import org.kverbs.spi.QueueMemory;

/** Writes the functions of an allocator into {@code struct ibv_parent_domain_init_attr}. */
final class AllocatorCallbacks {

    /** {@code void *alloc(struct ibv_pd *, void *pd_context, size_t size, size_t alignment, uint64_t type)}. */
    private static final FunctionDescriptor ALLOC =
            FunctionDescriptor.of(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

    /** {@code void free(struct ibv_pd *, void *pd_context, void *ptr, uint64_t resource_type)}. */
    private static final FunctionDescriptor FREE =
            FunctionDescriptor.ofVoid(JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);

    private static final MethodHandle ALLOCATE = method(
            "allocate", MethodType.methodType(long.class, long.class, long.class, long.class));
    private static final MethodHandle FREED = method("free", MethodType.methodType(void.class, long.class, long.class));

    private AllocatorCallbacks() {}

    private static MethodHandle method(String name, MethodType type) {
        try {
            MethodHandle found = MethodHandles.lookup().findVirtual(QueueMemory.class, name, type);
            return MethodHandles.dropArguments(found, 1, long.class, long.class); // pd and pd_context
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Writes the functions. They exist until the arena is closed, which must be after the domain was destroyed. */
    static void write(MemorySegment init, QueueMemory memory, Arena life) {
        Linker linker = Linker.nativeLinker();
        MemorySegment alloc = linker.upcallStub(ALLOCATE.bindTo(memory), ALLOC, life);
        MemorySegment free = linker.upcallStub(FREED.bindTo(memory), FREE, life);
        init.set(
                JAVA_INT,
                IbvParentDomainInitAttr.COMP_MASK,
                IbvParentDomainInitAttrMask.IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS);
        init.set(JAVA_LONG, IbvParentDomainInitAttr.ALLOC, alloc.address());
        init.set(JAVA_LONG, IbvParentDomainInitAttr.FREE, free.address());
    }
}
