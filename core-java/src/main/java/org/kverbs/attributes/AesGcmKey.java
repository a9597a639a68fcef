package org.kverbs.attributes;

import java.util.Set;
import org.kverbs.internal.values.Ranges;

/**
 * A key of AES-GCM for ESP ({@code struct ib_uverbs_flow_action_esp_keymat_aes_gcm}, RFC 4106). Its text never has the
 * key. Immutable.
 */
public final class AesGcmKey {

    /** The length of a salt in bytes. */
    public static final int SALT = 4;

    private static final Set<Integer> KEY_LENGTHS = Set.of(16, 24, 32);
    private static final Set<Integer> ICV_LENGTHS = Set.of(8, 12, 16);

    private final byte[] key;
    private final byte[] salt;
    private final int icvLength;
    private final long iv;

    private AesGcmKey(byte[] key, byte[] salt, int icvLength, long iv) {
        this.key = key;
        this.salt = salt;
        this.icvLength = icvLength;
        this.iv = iv;
    }

    /**
     * Makes a key with an integrity check value of 16 bytes, whose initialization vectors begin with 0. The arrays are
     * copied.
     *
     * @param key 16, 24 or 32 bytes
     * @param salt the 4 bytes that the nonce begins with
     * @throws IllegalArgumentException for another length
     */
    public static AesGcmKey of(byte[] key, byte[] salt) {
        if (!KEY_LENGTHS.contains(key.length)) {
            throw new IllegalArgumentException("a key of AES has 16, 24 or 32 bytes, not " + key.length);
        }
        Ranges.require("the length of the salt", salt.length, SALT, SALT);
        return new AesGcmKey(key.clone(), salt.clone(), 16, 0);
    }

    /** Returns a copy with an integrity check value of 8, 12 or 16 bytes ({@code icv_len}). */
    public AesGcmKey withIcvLength(int bytes) {
        if (!ICV_LENGTHS.contains(bytes)) {
            throw new IllegalArgumentException("icvLength is 8, 12 or 16 (RFC 4106), not " + bytes);
        }
        return new AesGcmKey(key, salt, bytes, iv);
    }

    /**
     * Returns a copy whose initialization vectors begin with another number ({@code iv}); only for full offload. With
     * one key, no vector may be used twice.
     */
    public AesGcmKey startingAt(long newIv) {
        return new AesGcmKey(key, salt, icvLength, newIv);
    }

    /** Returns a copy of the key. */
    public byte[] key() {
        return key.clone();
    }

    /** Returns a copy of the salt. */
    public byte[] salt() {
        return salt.clone();
    }

    /** Returns the length of the integrity check value in bytes. */
    public int icvLength() {
        return icvLength;
    }

    /** Returns the first initialization vector. */
    public long iv() {
        return iv;
    }

    /** Returns the algorithm and the lengths; nothing of the key, the salt and the vector. */
    @Override
    public String toString() {
        return "AES-GCM(" + key.length * Byte.SIZE + " bits, icv=" + icvLength + ")";
    }
}
