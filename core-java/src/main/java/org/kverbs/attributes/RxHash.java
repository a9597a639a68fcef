package org.kverbs.attributes;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.kverbs.internal.abi.IbvRxHashFunctionFlags;

/**
 * How a device hashes a received frame to choose a work queue: {@code struct ibv_rx_hash_conf}. The function is that of
 * Toeplitz, the only one of verbs.h. The device hashes the bytes of the {@linkplain #fields fields}, in the order
 * source address, destination address, source port, destination port. The lower bits of the hash are the index into the
 * indirection table.
 *
 * <p>Immutable. Two are equal if their keys and their fields are.
 */
public final class RxHash {

    /** The length of a key in bytes, which every driver asks for. */
    public static final int KEY_LENGTH = 40;

    /** The longest key that {@code rx_hash_key_len} can tell. */
    private static final int MOST = 255;

    private static final byte[] USUAL_KEY = HexFormat.of()
            .parseHex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b4"
                    + "77cb2da38030f20c6a42b73bbeac01fa");

    private final byte[] key;
    private final Set<RxHashField> fields;

    private RxHash(byte[] key, Set<RxHashField> fields) {
        if (key.length == 0 || key.length > MOST) {
            throw new IllegalArgumentException(
                    "a hash key of " + key.length + " bytes: give 40 bytes, as the devices ask for");
        }
        this.key = key;
        this.fields = fields;
    }

    /**
     * Returns a Toeplitz hash with a key of the caller.
     *
     * @param key {@value #KEY_LENGTH} bytes, which are copied; a device refuses another length
     * @param fields what is hashed; none sends every frame to the first entry of the table
     * @throws IllegalArgumentException for a key of no bytes, or of more than 255
     */
    public static RxHash toeplitz(byte[] key, RxHashField... fields) {
        Set<RxHashField> set = EnumSet.noneOf(RxHashField.class);
        set.addAll(List.of(fields));
        return new RxHash(key.clone(), set);
    }

    /**
     * Returns a Toeplitz hash with the key of Microsoft's specification of receive side scaling. The key is known to
     * everyone, so that a peer can choose addresses and ports that all come to one work queue. Take a random key where
     * peers are not trusted.
     */
    public static RxHash toeplitz(RxHashField... fields) {
        return toeplitz(USUAL_KEY, fields);
    }

    /** Returns the number of the function: {@code IBV_RX_HASH_FUNC_TOEPLITZ}. */
    public int function() {
        return IbvRxHashFunctionFlags.IBV_RX_HASH_FUNC_TOEPLITZ;
    }

    /** Returns a copy of the key. */
    public byte[] key() {
        return key.clone();
    }

    /** Returns a new set of the fields that are hashed. */
    public EnumSet<RxHashField> fields() {
        return fields.isEmpty() ? EnumSet.noneOf(RxHashField.class) : EnumSet.copyOf(fields);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RxHash hash && Arrays.equals(key, hash.key) && fields.equals(hash.fields);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(key) + fields.hashCode();
    }

    /** Returns the function and the fields, and not the key, which can be a secret. */
    @Override
    public String toString() {
        return "toeplitz" + fields;
    }
}
