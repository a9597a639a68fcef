package org.kverbs.embedded.internal.wire;

/**
 * The hash of Toeplitz, as Microsoft's specification of receive side scaling defines it: for each bit of the input that
 * is set, from the highest bit of the first byte on, the 32 bits of the key that begin at the bit's position are added
 * without carry.
 */
public final class Toeplitz {

    private final byte[] key;

    /** @param key at least 4 bytes longer than any input */
    public Toeplitz(byte[] key) {
        this.key = key.clone();
    }

    /** Returns the hash of the first bytes of the input. */
    public int hash(byte[] input, int length) {
        int hash = 0;
        int window = window();
        for (int i = 0; i < length; i++) {
            int next = Byte.toUnsignedInt(key[i + Integer.BYTES]);
            for (int bit = 7; bit >= 0; bit--) {
                if ((input[i] >> bit & 1) != 0) {
                    hash ^= window;
                }
                window = window << 1 | next >> bit & 1;
            }
        }
        return hash;
    }

    private int window() {
        int first = 0;
        for (int i = 0; i < Integer.BYTES; i++) {
            first = first << Byte.SIZE | Byte.toUnsignedInt(key[i]);
        }
        return first;
    }
}
