package org.kverbs.embedded.internal.wire;

import java.nio.ByteOrder;
import org.kverbs.internal.memory.Memory;

/** Reads and writes numbers in native memory at any address, most significant byte first, as headers hold them. */
final class NetworkOrder {

    private static final boolean SWAP = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    private NetworkOrder() {}

    static int getByte(long address) {
        return Byte.toUnsignedInt(Memory.getByte(address));
    }

    static int getShort(long address) {
        short value = Memory.getShort(address);
        return Short.toUnsignedInt(SWAP ? Short.reverseBytes(value) : value);
    }

    static int getInt(long address) {
        int value = Memory.getInt(address);
        return SWAP ? Integer.reverseBytes(value) : value;
    }

    static long getLong(long address) {
        long value = Memory.getLong(address);
        return SWAP ? Long.reverseBytes(value) : value;
    }

    /** Writes the lowest 8 bits. */
    static void putByte(long address, int value) {
        Memory.putByte(address, (byte) value);
    }

    /** Writes the lowest 16 bits. */
    static void putShort(long address, int value) {
        Memory.putShort(address, SWAP ? Short.reverseBytes((short) value) : (short) value);
    }

    static void putInt(long address, int value) {
        Memory.putInt(address, SWAP ? Integer.reverseBytes(value) : value);
    }

    static void putLong(long address, long value) {
        Memory.putLong(address, SWAP ? Long.reverseBytes(value) : value);
    }
}
