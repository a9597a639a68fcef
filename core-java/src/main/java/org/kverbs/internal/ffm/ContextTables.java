package org.kverbs.internal.ffm;

import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvContext;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.internal.memory.Memory;

/**
 * The calls that verbs.h makes through function pointers in {@code struct ibv_context} and in {@code struct
 * verbs_context}, the extension in front of it. These functions are {@code static inline} in verbs.h, so the library
 * exports no symbol for them.
 */
final class ContextTables {

    /**
     * Returns the distance from a pointer of an extended operation to the context. The extension grows at its front, so
     * the distances never change.
     *
     * @param member the offset of the pointer in {@code struct verbs_context}
     */
    private static int distance(int member) {
        return VerbsContext.CONTEXT - member;
    }

    /** sizeof(pthread_mutex_t) on x86_64. */
    private static final int MUTEX_SIZE = 40;

    private static final int SIZE_FIELD = distance(VerbsContext.SZ);

    /** The number of bytes by which a field after a pthread_mutex_t is moved against the offsets of x86_64. */
    static final int MUTEX_SHIFT = mutexSize(
                    System.getProperty("os.arch"),
                    Linker.nativeLinker().defaultLookup().find("gnu_get_libc_version").isPresent())
            - MUTEX_SIZE;

    /**
     * Returns sizeof(pthread_mutex_t): 48 with glibc on aarch64, 40 with glibc on any other 64-bit processor and with
     * musl on all.
     */
    static int mutexSize(String processor, boolean isGlibc) {
        return isGlibc && processor.equals("aarch64") ? 48 : MUTEX_SIZE;
    }

    private final long context;
    /** The size of this library's extension in front of the context, in bytes; 0 if it has none. */
    private final long extension;

    ContextTables(long context) {
        this.context = context;
        long abiCompat = (long) IbvContext.ABI_COMPAT + MUTEX_SHIFT;
        boolean extended = pointerAt(context + abiCompat) == -1L;
        // verbs_context.sz is the size of the whole structure: the extension and the context, whose last member is
        // abi_compat
        extension = extended ? pointerAt(context - SIZE_FIELD) - (abiCompat + Long.BYTES) : 0;
    }

    static long pointerAt(long address) {
        return Memory.getLong(address);
    }

    /** Returns the function pointer at an offset of {@code struct ibv_context}. Each driver fills all of these. */
    MemorySegment function(int offset) {
        return MemorySegment.ofAddress(pointerAt(context + offset));
    }

    /**
     * Returns an extended operation, or NULL if this library has no such operation.
     *
     * @param member the offset of its pointer in {@code struct verbs_context}
     */
    MemorySegment extended(int member) {
        int distance = distance(member);
        return extension < distance ? MemorySegment.NULL : MemorySegment.ofAddress(pointerAt(context - distance));
    }

    /**
     * Returns whether the driver has an extended operation. Where a driver has none, libibverbs puts a function of its
     * own, which refuses.
     *
     * @param member the offset of its pointer in {@code struct verbs_context}
     * @param ofLibrary any function of libibverbs
     */
    boolean has(int member, MemorySegment ofLibrary) {
        MemorySegment function = extended(member);
        return function.address() != 0 && !SharedObject.of(function).equals(SharedObject.of(ofLibrary));
    }

    /** Returns whether an extended operation is this function. */
    boolean is(int member, MemorySegment function) {
        return function.address() != 0 && extended(member).address() == function.address();
    }

    /** Returns whether a function belongs to the same shared object as an extended operation. */
    boolean isBesides(int member, MemorySegment function) {
        String object = SharedObject.of(function);
        return !object.isEmpty() && object.equals(SharedObject.of(extended(member)));
    }

    /**
     * Calls an extended operation that returns 0 or errno; operations with fewer parameters do not read the others.
     *
     * @param member the offset of its pointer in {@code struct verbs_context}
     * @return 0 or -errno; -EOPNOTSUPP if this library has no such operation
     */
    int call(int member, long a, long b, long c, long d, long e) {
        MemorySegment function = extended(member);
        return function.address() == 0 ? -Errno.EOPNOTSUPP : negated(Downcalls.call(function, a, b, c, d, e));
    }

    int call(int member, long a) {
        return call(member, a, 0, 0, 0, 0);
    }

    int call(int member, long a, long b) {
        return call(member, a, b, 0, 0, 0);
    }

    /**
     * Calls an extended operation that returns a pointer, or NULL with errno; see {@link #call(int, long, long, long,
     * long, long)}.
     *
     * @return the pointer or -errno; -EOPNOTSUPP if this library has no such operation
     */
    long make(int member, long a, long b, long c, long d, long e) {
        MemorySegment function = extended(member);
        if (function.address() == 0) {
            return -Errno.EOPNOTSUPP;
        }
        long made = Downcalls.pointer(function, a, b, c, d, e);
        return made == -Errno.ENOSYS ? -Errno.EOPNOTSUPP : made;
    }

    long make(int member, long a) {
        return make(member, a, 0, 0, 0, 0);
    }

    long make(int member, long a, long b) {
        return make(member, a, b, 0, 0, 0);
    }

    // man 3 ibv_query_port: 0 or errno; -EOPNOTSUPP if this library has no extended call
    int queryPort(int port, MemorySegment attributes) {
        return call(VerbsContext.QUERY_PORT, context, port, attributes.address(), attributes.byteSize(), 0);
    }

    // man 3 ibv_query_device_ex: 0 or errno; the input must be NULL or zero
    int queryDeviceEx(MemorySegment attributes) {
        return call(VerbsContext.QUERY_DEVICE_EX, context, 0, attributes.address(), attributes.byteSize(), 0);
    }

    // man 3 ibv_create_cq_ex: pointer or NULL with errno
    long createCqEx(MemorySegment initAttributes) {
        return make(VerbsContext.CREATE_CQ_EX, context, initAttributes.address());
    }

    // man 3 ibv_create_qp_ex: pointer or NULL with errno
    long createQpEx(MemorySegment initAttributes) {
        return make(VerbsContext.CREATE_QP_EX, context, initAttributes.address());
    }

    // man 3 ibv_modify_cq: 0 or errno
    int modifyCq(long cq, MemorySegment attributes) {
        return call(VerbsContext.MODIFY_CQ, cq, attributes.address());
    }

    // man 3 ibv_alloc_mw: pointer or NULL with errno
    long allocMw(long pd, int type) {
        MemorySegment function = function(IbvContext.OPS_ALLOC_MW);
        if (function.address() == 0) {
            return -Errno.EOPNOTSUPP;
        }
        return Downcalls.pointer(function, pd, type);
    }

    // man 3 ibv_bind_mw: 0 or errno
    int bindMw(long qp, long mw, MemorySegment bind) {
        MemorySegment function = function(IbvContext.OPS_BIND_MW);
        return function.address() == 0
                ? -Errno.EOPNOTSUPP
                : negated(Downcalls.call(function, qp, mw, bind.address()));
    }

    // man 3 ibv_dealloc_mw: 0 or errno
    int deallocMw(long mw) {
        return negated(Downcalls.call(function(IbvContext.OPS_DEALLOC_MW), mw));
    }

    static int negated(long result) {
        int code = (int) result;
        return code > 0 ? -code : code;
    }
}
