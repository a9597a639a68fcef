package org.kverbs.attributes;

import org.jspecify.annotations.Nullable;
import org.kverbs.internal.values.Ranges;

/**
 * The parameters of a flow action that decrypts or encrypts packets of IPsec ({@code struct ibv_flow_action_esp_attr}).
 * {@link #decrypting} and {@link #encrypting} begin with inline crypto, in which the packet keeps its ESP header;
 * {@link #fullOffload} makes the device add and remove it. Tunnel headers that the device adds and removes ({@code
 * esp_encap}) are not here.
 *
 * @param encrypts whether the action encrypts; otherwise it decrypts
 * @param key the key
 * @param fullOffload whether the device adds and removes the ESP header and trailer
 * @param transport whether the packets are of transport mode; otherwise of tunnel mode
 * @param spi the Security Parameters Index, 32 bits; only for full offload
 * @param sequence the first sequence number, its lower 32 bits; only for full offload
 * @param padding the bytes of Traffic Flow Confidentiality padding (RFC 4303); only for full offload
 * @param hardLimit after how many packets the device drops the others; 0 for no limit; only for full offload
 * @param replayWindow how many sequence numbers the bitmap of the replay protection has; 0 for no protection; only for
 *     full offload
 * @param esn the upper 32 bits of the extended sequence number; null for sequence numbers of 32 bits
 * @param isInNewWindow whether the bottom of the replay window is in the upper half of the lower 32 bits; only with
 *     {@code esn} and inline crypto, which the program then changes once in 2^31 packets
 */
public record EspAttributes(
        boolean encrypts,
        AesGcmKey key,
        boolean fullOffload,
        boolean transport,
        int spi,
        int sequence,
        int padding,
        long hardLimit,
        int replayWindow,
        @Nullable Integer esn,
        boolean isInNewWindow) {

    /**
     * Checks that what is only for full offload, or only for inline crypto, is where it counts.
     *
     * @throws IllegalArgumentException if it is not
     */
    public EspAttributes {
        Ranges.require("padding", padding, 0, Integer.MAX_VALUE);
        Ranges.require("replayWindow", replayWindow, 0, Integer.MAX_VALUE);
        boolean asksForOffload = spi != 0 || sequence != 0 || padding != 0 || hardLimit != 0 || replayWindow != 0;
        if (!fullOffload && asksForOffload) {
            throw new IllegalArgumentException("spi, sequence, padding, hardLimit and replayWindow are for full"
                    + " offload: call fullOffload(spi, sequence), or leave them 0");
        }
        if (isInNewWindow && (fullOffload || esn == null)) {
            throw new IllegalArgumentException("isInNewWindow is for inline crypto with an extended sequence number");
        }
    }

    /** Returns the parameters of an action that decrypts in tunnel mode, by inline crypto. */
    public static EspAttributes decrypting(AesGcmKey key) {
        return new EspAttributes(false, key, false, false, 0, 0, 0, 0, 0, null, false);
    }

    /** Returns the parameters of an action that encrypts in tunnel mode, by inline crypto. */
    public static EspAttributes encrypting(AesGcmKey key) {
        return new EspAttributes(true, key, false, false, 0, 0, 0, 0, 0, null, false);
    }

    /** Returns a copy for packets of transport mode. */
    public EspAttributes inTransportMode() {
        return new EspAttributes(encrypts, key, fullOffload, true, spi, sequence, padding, hardLimit, replayWindow, esn,
                isInNewWindow);
    }

    /** Returns a copy by which the device adds and removes the ESP header and trailer. */
    public EspAttributes fullOffload(int newSpi, int newSequence) {
        return new EspAttributes(encrypts, key, true, transport, newSpi, newSequence, padding, hardLimit, replayWindow,
                esn, false);
    }

    /** Returns a copy with padding, a limit of packets, and a window of the replay protection; for full offload. */
    public EspAttributes withLimits(int newPadding, long newHardLimit, int newReplayWindow) {
        return new EspAttributes(encrypts, key, fullOffload, transport, spi, sequence, newPadding, newHardLimit,
                newReplayWindow, esn, isInNewWindow);
    }

    /** Returns a copy with an extended sequence number (IBV_FLOW_ACTION_ESP_MASK_ESN). */
    public EspAttributes withEsn(int upper, boolean newWindow) {
        return new EspAttributes(encrypts, key, fullOffload, transport, spi, sequence, padding, hardLimit, replayWindow,
                upper, newWindow);
    }

    /** Returns the parameters without the key. */
    @Override
    public String toString() {
        return (encrypts ? "encrypt, " : "decrypt, ") + key + (transport ? ", transport" : ", tunnel")
                + (fullOffload ? ", full offload, spi=0x" + Integer.toHexString(spi) : "")
                + (replayWindow == 0 ? "" : ", replay_window=" + replayWindow)
                + (esn == null ? "" : ", esn=" + Integer.toUnsignedString(esn));
    }
}
