package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.values.Ranges;

/**
 * Builds {@link QueuePairAttributes}. No attribute has a default: the set holds only attributes that were set. Setting
 * an attribute again replaces its value. Each setter checks the range and throws {@link IllegalArgumentException} with
 * the attribute's name, the value and the range. The builder does not check which attributes a transition needs, since
 * that depends on the type of the queue pair.
 *
 * <p>For one thread at a time.
 */
public final class QueuePairAttributesBuilder {
    private static final int MAX_24_BITS = 0xffffff;
    private static final long MAX_32_BITS = 0xffffffffL;

    private final EnumSet<QueuePairAttribute> attributes = EnumSet.noneOf(QueuePairAttribute.class);
    private final MemorySegment fields = QueuePairAttributes.newFields();

    QueuePairAttributesBuilder() {}

    /** Sets the state to move to. */
    public QueuePairAttributesBuilder state(QueuePairState state) {
        return constant(QueuePairAttribute.STATE, IbvQpAttr.QP_STATE, state, state.code());
    }

    /**
     * Sets the state that the caller assumes the queue pair is in. A transition needs it only from SQE, or from SQD
     * while the drained event can arrive.
     */
    public QueuePairAttributesBuilder currentState(QueuePairState state) {
        return constant(QueuePairAttribute.CUR_STATE, IbvQpAttr.CUR_QP_STATE, state, state.code());
    }

    /** Sets whether the device raises an event when the send queue has drained. */
    public QueuePairAttributesBuilder sqDrainedNotify(boolean wanted) {
        return uint8(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY, IbvQpAttr.EN_SQD_ASYNC_NOTIFY, wanted ? 1 : 0, 1);
    }

    /** Sets the operations that the peer may use: any of REMOTE_WRITE, REMOTE_READ and REMOTE_ATOMIC, or none. */
    public QueuePairAttributesBuilder accessFlags(AccessFlag... flags) {
        return accessFlags(List.of(flags));
    }

    /** Sets what the peer may do: of REMOTE_WRITE, REMOTE_READ and REMOTE_ATOMIC; an empty collection for nothing. */
    public QueuePairAttributesBuilder accessFlags(Collection<AccessFlag> flags) {
        return int32(QueuePairAttribute.ACCESS_FLAGS, IbvQpAttr.QP_ACCESS_FLAGS, AccessFlag.mask(flags));
    }

    /** Sets the partition: an index into the port's P_Key table, 0 to 65535. */
    public QueuePairAttributesBuilder pkeyIndex(int index) {
        return uint16(QueuePairAttribute.PKEY_INDEX, IbvQpAttr.PKEY_INDEX, index);
    }

    /** Sets the local port, 1 to 255. */
    public QueuePairAttributesBuilder port(int number) {
        Ranges.require(QueuePairAttribute.PORT.name(), number, 1, 255);
        return uint8(QueuePairAttribute.PORT, IbvQpAttr.PORT_NUM, number, 255);
    }

    /** Sets the Q_Key that datagrams must carry, 32 bits. A key with the highest bit set is privileged. */
    public QueuePairAttributesBuilder qkey(int qkey) {
        return int32(QueuePairAttribute.QKEY, IbvQpAttr.QKEY, qkey);
    }

    /** Sets the address of the peer, the primary path. */
    public QueuePairAttributesBuilder address(AddressAttributes peer) {
        peer.writeTo(add(QueuePairAttribute.AV).asSlice(IbvQpAttr.AH_ATTR));
        return this;
    }

    /**
     * Sets the largest payload of a packet. Both ends need the same value, and it must not exceed the active MTU of
     * either port.
     */
    public QueuePairAttributesBuilder pathMtu(Mtu mtu) {
        return constant(QueuePairAttribute.PATH_MTU, IbvQpAttr.PATH_MTU, mtu, mtu.code());
    }

    /** Sets the acknowledgement timeout as a code, 0 to 31: 4.096 us * 2^n, 0 for no timeout. */
    public QueuePairAttributesBuilder timeout(int code) {
        return uint8(QueuePairAttribute.TIMEOUT, IbvQpAttr.TIMEOUT, code, 31);
    }

    /**
     * Sets the acknowledgement timeout to the shortest that is at least {@code time}; see
     * {@link QueuePairTimers#ackTimeoutCode}.
     */
    public QueuePairAttributesBuilder timeout(Duration time) {
        return timeout(QueuePairTimers.ackTimeoutCode(time));
    }

    /** Sets how often a request is sent again when no acknowledgement comes, 0 to 7. Here 7 stands for seven times. */
    public QueuePairAttributesBuilder retryCount(int count) {
        return uint8(QueuePairAttribute.RETRY_CNT, IbvQpAttr.RETRY_CNT, count, 7);
    }

    /** Sets how often a request is sent again when the peer had no receive posted, 0 to 6; 7 for no limit. */
    public QueuePairAttributesBuilder rnrRetry(int count) {
        return uint8(QueuePairAttribute.RNR_RETRY, IbvQpAttr.RNR_RETRY, count, 7);
    }

    /** Sets the first packet sequence number to receive, 24 bits: the peer's {@link #sqPsn}. */
    public QueuePairAttributesBuilder rqPsn(int psn) {
        return uint24(QueuePairAttribute.RQ_PSN, IbvQpAttr.RQ_PSN, psn);
    }

    /** Sets the first packet sequence number to send, 24 bits: the peer's {@link #rqPsn}. */
    public QueuePairAttributesBuilder sqPsn(int psn) {
        return uint24(QueuePairAttribute.SQ_PSN, IbvQpAttr.SQ_PSN, psn);
    }

    /**
     * Sets how many reads and atomics to the peer may be in flight, 0 to 255, but at most the peer's {@link
     * #maxDestReadAtomic}.
     */
    public QueuePairAttributesBuilder maxReadAtomic(int count) {
        return uint8(QueuePairAttribute.MAX_QP_RD_ATOMIC, IbvQpAttr.MAX_RD_ATOMIC, count, 255);
    }

    /** Sets how many reads and atomics of the peer may be in flight, 0 to 255. */
    public QueuePairAttributesBuilder maxDestReadAtomic(int count) {
        return uint8(QueuePairAttribute.MAX_DEST_RD_ATOMIC, IbvQpAttr.MAX_DEST_RD_ATOMIC, count, 255);
    }

    /**
     * Sets the alternate path, to which the queue pair can migrate.
     *
     * @param peer the address of the peer on that path
     * @param pkeyIndex an index into the P_Key table of the path's port, 0 to 65535
     * @param port the local port of the path, 1 to 255
     * @param timeout the acknowledgement timeout of the path, a code as in {@link #timeout(int)}
     */
    public QueuePairAttributesBuilder alternatePath(AddressAttributes peer, int pkeyIndex, int port, int timeout) {
        String name = QueuePairAttribute.ALT_PATH.name();
        Ranges.require(name + " P_Key index", pkeyIndex, 0, 0xffff);
        Ranges.require(name + " port", port, 1, 255);
        Ranges.require(name + " timeout", timeout, 0, 31);
        peer.writeTo(add(QueuePairAttribute.ALT_PATH).asSlice(IbvQpAttr.ALT_AH_ATTR));
        fields.set(JAVA_SHORT, IbvQpAttr.ALT_PKEY_INDEX, (short) pkeyIndex);
        fields.set(JAVA_BYTE, IbvQpAttr.ALT_PORT_NUM, (byte) port);
        fields.set(JAVA_BYTE, IbvQpAttr.ALT_TIMEOUT, (byte) timeout);
        return this;
    }

    /**
     * Sets how long a peer must wait when no receive is posted, as a code, 0 to 31; see {@link
     * QueuePairTimers#rnrTimer}.
     */
    public QueuePairAttributesBuilder minRnrTimer(int code) {
        return uint8(QueuePairAttribute.MIN_RNR_TIMER, IbvQpAttr.MIN_RNR_TIMER, code, 31);
    }

    /**
     * Sets how long a peer must wait when no receive is posted, to the shortest time that is at least {@code time}; see
     * {@link QueuePairTimers#rnrTimerCode}.
     */
    public QueuePairAttributesBuilder minRnrTimer(Duration time) {
        return minRnrTimer(QueuePairTimers.rnrTimerCode(time));
    }

    /** Sets the state of path migration. */
    public QueuePairAttributesBuilder migrationState(MigrationState state) {
        return constant(QueuePairAttribute.PATH_MIG_STATE, IbvQpAttr.PATH_MIG_STATE, state, state.code());
    }

    /** Sets the sizes of the queues, on devices that can resize them. */
    public QueuePairAttributesBuilder cap(QueuePairCapabilities cap) {
        cap.writeTo(add(QueuePairAttribute.CAP).asSlice(IbvQpAttr.CAP));
        return this;
    }

    /** Sets the peer's queue pair number, 24 bits. */
    public QueuePairAttributesBuilder destQpn(int number) {
        return uint24(QueuePairAttribute.DEST_QPN, IbvQpAttr.DEST_QP_NUM, number);
    }

    /** Sets the sending rate of a raw packet queue pair, in kilobits a second, 32 bits; 0 for no limit. */
    public QueuePairAttributesBuilder rateLimit(long kbps) {
        Ranges.require(QueuePairAttribute.RATE_LIMIT.name(), kbps, 0, MAX_32_BITS);
        return int32(QueuePairAttribute.RATE_LIMIT, IbvQpAttr.RATE_LIMIT, (int) kbps);
    }

    /** Returns the set. The builder can be used again. */
    public QueuePairAttributes build() {
        return new QueuePairAttributes(fields, attributes);
    }

    private MemorySegment add(QueuePairAttribute attribute) {
        attributes.add(attribute);
        return fields;
    }

    private QueuePairAttributesBuilder constant(QueuePairAttribute attribute, int offset, Enum<?> value, int code) {
        if (code < 0) {
            throw new IllegalArgumentException(attribute + " " + value + " cannot be asked for: name a known value");
        }
        return int32(attribute, offset, code);
    }

    private QueuePairAttributesBuilder int32(QueuePairAttribute attribute, int offset, int value) {
        add(attribute).set(JAVA_INT, offset, value);
        return this;
    }

    private QueuePairAttributesBuilder uint24(QueuePairAttribute attribute, int offset, int value) {
        return int32(attribute, offset, Ranges.require(attribute.name(), value, 0, MAX_24_BITS));
    }

    private QueuePairAttributesBuilder uint16(QueuePairAttribute attribute, int offset, int value) {
        Ranges.require(attribute.name(), value, 0, 0xffff);
        add(attribute).set(JAVA_SHORT, offset, (short) value);
        return this;
    }

    private QueuePairAttributesBuilder uint8(QueuePairAttribute attribute, int offset, int value, int max) {
        Ranges.require(attribute.name(), value, 0, max);
        add(attribute).set(JAVA_BYTE, offset, (byte) value);
        return this;
    }
}
