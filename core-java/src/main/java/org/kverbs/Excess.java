package org.kverbs;

import java.util.StringJoiner;
import org.kverbs.attributes.DeviceAttributes;
import org.kverbs.attributes.QueuePairCapabilities;

/** What a refused creation asked for beyond the limits of its device, as sentences for the message of the refusal. */
final class Excess {

    private final StringJoiner sentences = new StringJoiner(" ");

    /**
     * Compares one size with its limit.
     *
     * @param name of the size, as the C structure of the call has it
     * @param asked its value
     * @param limit the name of the device's limit
     * @param allowed its value, as an unsigned number; 0 where the device does not say it
     */
    Excess of(String name, long asked, String limit, long allowed) {
        if (allowed != 0 && Long.compareUnsigned(asked, allowed) > 0) {
            add(name + " " + asked + " is above", limit, allowed);
        }
        return this;
    }

    /** The same for a number that counts from 0, such as an index, and must be below the limit. */
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

    /** Whole sentences; empty if nothing is above its limit. */
    @Override
    public String toString() {
        return sentences.toString();
    }
}
