package org.kverbs.internal.memory;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** Reads and writes native memory by its address. Only this class makes a segment from a number. */
public final class Memory {

    private Memory() {}

    /**
     * The whole address space. It is in a class of its own, so that a denial of native access is thrown at its first
     * use and not when {@link Memory} is loaded.
     */
    private static final class Everything {
        static final MemorySegment SEGMENT = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
        static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
        static final VarHandle UNALIGNED_LONG = ValueLayout.JAVA_LONG_UNALIGNED.varHandle();
        static final VarHandle UNALIGNED_INT = ValueLayout.JAVA_INT_UNALIGNED.varHandle();
    }

    /**
     * Returns a view of a C structure. The view is a new object unless the JIT removes it, so the data path uses the
     * methods below, which make no object.
     *
     * @param address the address of the structure, which must exist as long as the view is used
     * @param size the size in bytes, a constant
     */
    public static MemorySegment at(long address, long size) {
        return MemorySegment.ofAddress(address).reinterpret(size);
    }

    /**
     * Returns an address of native memory as it is. The JIT learns that it is neither negative nor close to the largest
     * number, and leaves out the check of the bounds where a method of this class uses it, or a place near it.
     */
    public static long known(long address) {
        return address & Long.MAX_VALUE >> 1;
    }

    /** Reads 8 bytes in native order. Here and below the caller guarantees that the address is valid. */
    public static long getLong(long address) {
        return (long) Everything.UNALIGNED_LONG.get(Everything.SEGMENT, address);
    }

    /** Reads 4 bytes in native order. */
    public static int getInt(long address) {
        return (int) Everything.UNALIGNED_INT.get(Everything.SEGMENT, address);
    }

    /** Reads 2 bytes in native order. */
    public static short getShort(long address) {
        return Everything.SEGMENT.get(ValueLayout.JAVA_SHORT_UNALIGNED, address);
    }

    /** Reads a byte. */
    public static byte getByte(long address) {
        return Everything.SEGMENT.get(ValueLayout.JAVA_BYTE, address);
    }

    /** Writes 8 bytes in native order. */
    public static void putLong(long address, long value) {
        Everything.UNALIGNED_LONG.set(Everything.SEGMENT, address, value);
    }

    /** Writes 4 bytes in native order. */
    public static void putInt(long address, int value) {
        Everything.UNALIGNED_INT.set(Everything.SEGMENT, address, value);
    }

    /** Writes 2 bytes in native order. */
    public static void putShort(long address, short value) {
        Everything.SEGMENT.set(ValueLayout.JAVA_SHORT_UNALIGNED, address, value);
    }

    /** Writes a byte. */
    public static void putByte(long address, byte value) {
        Everything.SEGMENT.set(ValueLayout.JAVA_BYTE, address, value);
    }

    /** Writes 8 aligned bytes atomically, after all writes before it. */
    public static void putLongRelease(long address, long value) {
        Everything.LONG.setRelease(Everything.SEGMENT, address, value);
    }

    /** Adds to 8 aligned bytes atomically and returns their former value. */
    public static long getAndAddLong(long address, long delta) {
        return (long) Everything.LONG.getAndAdd(Everything.SEGMENT, address, delta);
    }

    /** Writes 8 aligned bytes atomically if they equal {@code expected}, and returns their former value. */
    public static long compareAndExchangeLong(long address, long expected, long value) {
        return (long) Everything.LONG.compareAndExchange(Everything.SEGMENT, address, expected, value);
    }

    /** Copies bytes from one address to another. */
    public static void copy(long from, long to, long length) {
        MemorySegment.copy(Everything.SEGMENT, from, Everything.SEGMENT, to, length);
    }

    /**
     * Throws the pending InternalError of this thread, if there is one. If a mapped file has been truncated, compiled
     * code does not throw the error at the touch of the memory, but where the thread next reaches a safepoint or
     * returns from native code.
     */
    public static void throwPending() {
        Runtime.getRuntime().maxMemory(); // any native method that the JIT does not replace by an intrinsic
    }
}
