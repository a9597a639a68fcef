package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.BitSet;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.wire.EspPacket;

/**
 * An action that decrypts the ESP packets of flow rules: AES-GCM by full offload, in transport mode (RFC 4303, RFC
 * 4106). The packet leaves without ESP header, padding and trailer. Guarded by the engine's lock.
 */
public final class EspAction {

    /** How far the replay window moves at most. */
    private static final long FARTHEST = 1L << 31;

    private static final int NONCE = 12;

    /**
     * The parameters of a security association.
     *
     * @param start the first sequence number; with {@code isExtended}, of 64 bits
     * @param window the length of the replay window; 0 for no protection
     * @param hardLimit after how many packets the others are dropped; 0 for no limit
     * @param icvLength the length of the integrity check value in bytes
     */
    public record Association(
            int spi,
            long start,
            boolean isExtended,
            int window,
            long hardLimit,
            byte[] key,
            byte[] salt,
            int icvLength) {

        /** Returns the index alone: the rest is secret. */
        @Override
        public String toString() {
            return "ESP association " + Integer.toHexString(spi);
        }
    }

    /** How many flow rules use the action. */
    public int users;

    private final EspPacket packet = new EspPacket();
    private final MemorySegment opened = Arena.ofAuto().allocate(Limits.FRAME, 8);
    private final Cipher cipher;
    private Association association;
    private SecretKeySpec key;
    /** The sequence number after the highest that passed the check. */
    private long next;
    /** The numbers of the replay window that were received, each at its remainder by the window's length. */
    private final BitSet seen = new BitSet();
    private long packets;
    private long lastFrame;
    private int lastLength;

    /** Makes an action. */
    public EspAction(Association association) {
        try {
            this.cipher = Cipher.getInstance("AES/GCM/NoPadding");
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this Java has no AES-GCM", e);
        }
        this.association = association;
        this.key = new SecretKeySpec(association.key, "AES");
        begin();
    }

    /**
     * Changes the action for all its rules. With the same key the numbers go on where they are, or at the given start
     * if that is later. Otherwise an attacker could send recorded packets again.
     */
    public void modify(Association changed) {
        boolean hasSameKey = Arrays.equals(association.key, changed.key)
                && Arrays.equals(association.salt, changed.salt)
                && association.isExtended == changed.isExtended;
        boolean goesOn = hasSameKey && association.window == changed.window && changed.start <= next;
        long reached = next;
        association = changed;
        key = new SecretKeySpec(changed.key, "AES");
        if (!goesOn) {
            begin();
            next = hasSameKey ? Math.max(reached, next) : next;
        }
    }

    private void begin() {
        next = association.start;
        seen.clear();
        seen.set(0, Math.max(1, association.window)); // what is before the first number counts as received
        packets = 0;
    }

    /** Returns the address of the packet that {@link #open} decrypted. */
    long opened() {
        return opened.address();
    }

    /**
     * Decrypts a frame. Returns the length of the frame at {@link #opened}, or -1 if the frame is to be dropped. A
     * frame that several rules of the action take is decrypted once: the second time it would be a replay.
     *
     * @param number the number of the frame, as {@link Steering} counts them
     */
    int open(long frame, int length, long number) {
        if (number != lastFrame) {
            lastFrame = number;
            lastLength = open(frame, length);
        }
        return lastLength;
    }

    private int open(long frame, int length) {
        if (!packet.read(frame, length, association.icvLength) || packet.spi() != association.spi) {
            return -1;
        }
        long sequence = sequence(packet.sequence());
        if (isReplayed(sequence) || association.hardLimit != 0 && packets >= association.hardLimit) {
            return -1;
        }
        byte[] plain = decrypt(sequence);
        int result = plain == null ? -1 : packet.write(plain, opened.address(), Limits.FRAME);
        if (plain != null) {
            packets++;
            note(sequence);
        }
        return result;
    }

    private byte @Nullable [] decrypt(long sequence) {
        var nonce = new byte[NONCE];
        System.arraycopy(association.salt, 0, nonce, 0, association.salt.length);
        packet.copyVector(nonce, association.salt.length);
        try {
            cipher.init(Cipher.DECRYPT_MODE, key, new GCMParameterSpec(association.icvLength * Byte.SIZE, nonce));
            cipher.updateAAD(packet.authenticated(association.isExtended, (int) (sequence >>> Integer.SIZE)));
            return cipher.doFinal(packet.sealed());
        } catch (GeneralSecurityException e) { // the packet was changed on its way, or has another key
            return null;
        }
    }

    /** Returns the whole sequence number of a packet, of which it carries the lower half (RFC 4303, appendix A2.1). */
    private long sequence(int carried) {
        long low = Integer.toUnsignedLong(carried);
        if (!association.isExtended) {
            return low;
        }
        long window = association.window == 0 ? FARTHEST : association.window;
        long top = Math.max(0, next - 1);
        long bottom = top - window + 1;
        long candidate = (top & ~0xffff_ffffL) | low;
        if (candidate < bottom && candidate <= Long.MAX_VALUE - (1L << Integer.SIZE)) {
            return candidate + (1L << Integer.SIZE);
        }
        boolean fitsBelow = candidate - (1L << Integer.SIZE) >= Math.max(0, bottom);
        return fitsBelow ? candidate - (1L << Integer.SIZE) : candidate;
    }

    private boolean isReplayed(long sequence) {
        if (association.window == 0) {
            return false;
        }
        if (sequence >= next) {
            return sequence - next >= FARTHEST;
        }
        return next - sequence > association.window || seen.get((int) (sequence % association.window));
    }

    private void note(long sequence) {
        int window = association.window;
        if (window == 0) {
            next = Math.max(next, sequence + 1);
            return;
        }
        if (sequence - next >= window) {
            seen.clear();
        } else {
            for (long skipped = next; skipped < sequence; skipped++) {
                seen.clear((int) (skipped % window));
            }
        }
        seen.set((int) (sequence % window));
        next = Math.max(next, sequence + 1);
    }
}
