package org.kverbs;

import java.util.StringJoiner;
import org.kverbs.attributes.DeviceAttributes;
import org.kverbs.attributes.QueuePairCapabilities;

/**
 * Collects the sizes of a refused request that are above the limits of the device, as sentences for the exception's
 * message.
 */
final class Excess {

    private final StringJoiner sentences = new StringJoiner(" ");

    /**
     * Compares one size with its limit.
     *
     * @param name the name of the size in the C structure of the call
     * @param asked the size that the caller asked for
     * @param limit the name of the device's limit
     * @param allowed the value of the limit, unsigned; 0 if the device does not give it
     */
    Excess of(String name, long asked, String limit, long allowed) {
        if (allowed != 0 && Long.compareUnsigned(asked, allowed) > 0) {
            add(name + " " + asked + " is above", limit, allowed);
        }
        return this;
    }

    /** Compares an index, which counts from 0 and must be below the limit. */
    Excess ofIndex(String name, long asked, String limit, long count) {
        if (Long.compareUnsigned(asked, count) >= 0) {
            add(name + " " + asked + " is not below", limit, count);
        }
        return this;
    }

    /** Compares all sizes of a queue pair. */
    Excess of(QueuePairCapabilities asked, DeviceAttributes limits) {
        return of("max_send_wr", asked.maxSendWr(), "max_qp_wr", limits.maxQpWr())
                .of("max_recv_wr", asked.maxRecvWr(), "max_qp_wr", limits.maxQpWr())
                .of("max_send_sge", asked.maxSendSge(), "max_sge", limits.maxSge())
                .of("max_recv_sge", asked.maxRecvSge(), "max_sge", limits.maxSge());
    }

    private void add(String beginning, String limit, long value) {
        sentences.add(beginning + " the device's " + limit + " of " + Long.toUnsignedString(value) + ".");
    }

    /** Returns whole sentences; empty if no size is above its limit. */
    @Override
    public String toString() {
        return sentences.toString();
    }
}
