package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.values.Structure;

/**
 * A set of attributes of a queue pair with their values: {@code struct ibv_qp_attr} and the mask of its valid fields
 * (ibv_modify_qp(3), ibv_query_qp(3)). To change a queue pair, {@link #builder() build} a set. {@link QueuePair#query}
 * returns one.
 *
 * <p>The getter of an attribute that is not in the set throws {@link IllegalStateException}. A getter of an enum
 * returns {@code UNKNOWN} for a number that has no name; the getter with {@code raw} in its name returns the number.
 *
 * <p>Immutable and safe for any thread. One set serves any number of queue pairs.
 */
public final class QueuePairAttributes {

    static {
        Structure.offerMasked(QueuePairAttributes.class, QueuePairAttributes::from, QueuePairAttributes::writeTo);
    }

    private final EnumSet<QueuePairAttribute> attributes;

    /** The C structure. Fields that are not in the set are 0, so two sets with equal structures and masks are equal. */
    private final MemorySegment fields;

    /** Copies from {@code source} the fields that {@code attributes} name. */
    QueuePairAttributes(MemorySegment source, EnumSet<QueuePairAttribute> attributes) {
        this.attributes = EnumSet.copyOf(attributes);
        this.fields = newFields();
        for (QueuePairAttribute attribute : attributes) {
            int[] places = QueuePairFields.of(attribute);
            for (int i = 0; i < places.length; i += 2) {
                MemorySegment.copy(source, places[i], fields, places[i], places[i + 1]);
            }
        }
    }

    /** Returns a zeroed C structure on the heap, aligned for all its fields. */
    static MemorySegment newFields() {
        return MemorySegment.ofArray(new long[IbvQpAttr.SIZE / Long.BYTES]);
    }

    /** Starts to build a set. */
    public static QueuePairAttributesBuilder builder() {
        return new QueuePairAttributesBuilder();
    }

    /**
     * Reads the fields that {@code mask} names from the C structure at the start of {@code segment}, which is 4-byte
     * aligned memory in the machine's byte order. Ignores bits of the mask that have no name.
     */
    static QueuePairAttributes from(MemorySegment segment, int mask) {
        return new QueuePairAttributes(segment, QueuePairAttribute.of(mask));
    }

    /** Writes the whole C structure at the start of {@code segment}. Fields that are not in the set become 0. */
    void writeTo(MemorySegment segment) {
        MemorySegment.copy(fields, 0, segment, 0, IbvQpAttr.SIZE);
    }

    /** Returns a new set of the attributes that have a value here. */
    public EnumSet<QueuePairAttribute> attributes() {
        return EnumSet.copyOf(attributes);
    }

    /** Returns the bits of {@link #attributes()}: the mask for ibv_modify_qp(3). */
    public int mask() {
        return QueuePairAttribute.mask(attributes);
    }

    /** Returns the state: the one to move to, or the present one in the answer to a query. */
    public QueuePairState state() {
        return QueuePairState.of(rawState());
    }

    /** Returns the number of {@link #state()}. */
    public int rawState() {
        return int32(QueuePairAttribute.STATE, IbvQpAttr.QP_STATE);
    }

    /** Returns the state that the caller assumes the queue pair is in. */
    public QueuePairState currentState() {
        return QueuePairState.of(rawCurrentState());
    }

    /** Returns the number of {@link #currentState()}. */
    public int rawCurrentState() {
        return int32(QueuePairAttribute.CUR_STATE, IbvQpAttr.CUR_QP_STATE);
    }

    /** Returns whether the send queue is still draining, in the answer to a query in state SQD. */
    public boolean isSqDraining() {
        return uint8(QueuePairAttribute.STATE, IbvQpAttr.SQ_DRAINING) != 0;
    }

    /** Returns whether the device raises an event when the send queue has drained. */
    public boolean isSqDrainedNotify() {
        return uint8(QueuePairAttribute.EN_SQD_ASYNC_NOTIFY, IbvQpAttr.EN_SQD_ASYNC_NOTIFY) != 0;
    }

    /**
     * Returns a new set of the operations that a peer may use. {@link #rawAccessFlags()} also holds bits that have no
     * name.
     */
    public EnumSet<AccessFlag> accessFlags() {
        return AccessFlag.of(rawAccessFlags());
    }

    /** Returns the mask of {@link #accessFlags()}. */
    public int rawAccessFlags() {
        return int32(QueuePairAttribute.ACCESS_FLAGS, IbvQpAttr.QP_ACCESS_FLAGS);
    }

    /** Returns the partition: an index into the port's P_Key table. */
    public int pkeyIndex() {
        return uint16(QueuePairAttribute.PKEY_INDEX, IbvQpAttr.PKEY_INDEX);
    }

    /** Returns the local port, from 1. */
    public int port() {
        return uint8(QueuePairAttribute.PORT, IbvQpAttr.PORT_NUM);
    }

    /** Returns the Q_Key that datagrams must carry, 32 bits. */
    public int qkey() {
        return int32(QueuePairAttribute.QKEY, IbvQpAttr.QKEY);
    }

    /** Returns the address of the peer. */
    public AddressAttributes address() {
        return AddressAttributes.from(at(QueuePairAttribute.AV, IbvQpAttr.AH_ATTR));
    }

    /** Returns the largest payload of a packet. */
    public Mtu pathMtu() {
        return Mtu.of(rawPathMtu());
    }

    /** Returns the number of {@link #pathMtu()}. */
    public int rawPathMtu() {
        return int32(QueuePairAttribute.PATH_MTU, IbvQpAttr.PATH_MTU);
    }

    /** Returns the acknowledgement timeout as a code: 4.096 us * 2^n, 0 for no timeout; see {@link QueuePairTimers}. */
    public int timeout() {
        return uint8(QueuePairAttribute.TIMEOUT, IbvQpAttr.TIMEOUT);
    }

    /** Returns how often a request is sent again when no acknowledgement comes, 0 to 7. */
    public int retryCount() {
        return uint8(QueuePairAttribute.RETRY_CNT, IbvQpAttr.RETRY_CNT);
    }

    /** Returns how often a request is sent again when the peer had no receive posted, 0 to 6; 7 for no limit. */
    public int rnrRetry() {
        return uint8(QueuePairAttribute.RNR_RETRY, IbvQpAttr.RNR_RETRY);
    }

    /** Returns the first packet sequence number to receive, 24 bits. */
    public int rqPsn() {
        return int32(QueuePairAttribute.RQ_PSN, IbvQpAttr.RQ_PSN);
    }

    /** Returns the first packet sequence number to send, 24 bits; in the answer to a query, the next one. */
    public int sqPsn() {
        return int32(QueuePairAttribute.SQ_PSN, IbvQpAttr.SQ_PSN);
    }

    /** Returns how many reads and atomics to the peer may be in flight. */
    public int maxReadAtomic() {
        return uint8(QueuePairAttribute.MAX_QP_RD_ATOMIC, IbvQpAttr.MAX_RD_ATOMIC);
    }

    /** Returns how many reads and atomics of the peer may be in flight. */
    public int maxDestReadAtomic() {
        return uint8(QueuePairAttribute.MAX_DEST_RD_ATOMIC, IbvQpAttr.MAX_DEST_RD_ATOMIC);
    }

    /** Returns the address of the peer on the alternate path. */
    public AddressAttributes alternatePath() {
        return AddressAttributes.from(at(QueuePairAttribute.ALT_PATH, IbvQpAttr.ALT_AH_ATTR));
    }

    /** Returns the partition of the alternate path: an index into the P_Key table of its port. */
    public int alternatePkeyIndex() {
        return uint16(QueuePairAttribute.ALT_PATH, IbvQpAttr.ALT_PKEY_INDEX);
    }

    /** Returns the local port of the alternate path, from 1. */
    public int alternatePort() {
        return uint8(QueuePairAttribute.ALT_PATH, IbvQpAttr.ALT_PORT_NUM);
    }

    /** Returns the acknowledgement timeout of the alternate path, a code as in {@link #timeout()}. */
    public int alternateTimeout() {
        return uint8(QueuePairAttribute.ALT_PATH, IbvQpAttr.ALT_TIMEOUT);
    }

    /** Returns how long a peer must wait when no receive is posted, as a code; see {@link QueuePairTimers}. */
    public int minRnrTimer() {
        return uint8(QueuePairAttribute.MIN_RNR_TIMER, IbvQpAttr.MIN_RNR_TIMER);
    }

    /** Returns the state of path migration. */
    public MigrationState migrationState() {
        return MigrationState.of(rawMigrationState());
    }

    /** Returns the number of {@link #migrationState()}. */
    public int rawMigrationState() {
        return int32(QueuePairAttribute.PATH_MIG_STATE, IbvQpAttr.PATH_MIG_STATE);
    }

    /** Returns the sizes of the queues. */
    public QueuePairCapabilities cap() {
        return QueuePairCapabilities.from(at(QueuePairAttribute.CAP, IbvQpAttr.CAP));
    }

    /** Returns the peer's queue pair number, 24 bits. */
    public int destQpn() {
        return int32(QueuePairAttribute.DEST_QPN, IbvQpAttr.DEST_QP_NUM);
    }

    /** Returns the sending rate of a raw packet queue pair, in kilobits a second; 0 for no limit. */
    public long rateLimit() {
        return Integer.toUnsignedLong(int32(QueuePairAttribute.RATE_LIMIT, IbvQpAttr.RATE_LIMIT));
    }

    private int int32(QueuePairAttribute attribute, int offset) {
        return at(attribute, offset).get(JAVA_INT, 0);
    }

    private int uint16(QueuePairAttribute attribute, int offset) {
        return Short.toUnsignedInt(at(attribute, offset).get(JAVA_SHORT, 0));
    }

    private int uint8(QueuePairAttribute attribute, int offset) {
        return Byte.toUnsignedInt(at(attribute, offset).get(JAVA_BYTE, 0));
    }

    private MemorySegment at(QueuePairAttribute attribute, int offset) {
        if (!attributes.contains(attribute)) {
            throw new IllegalStateException("queue pair attribute " + attribute + " is not in this set, which has "
                    + attributes + ": set it, or ask for it in the query");
        }
        return fields.asSlice(offset);
    }

    private Object value(QueuePairAttribute attribute) {
        return switch (attribute) {
            case STATE -> named(state(), QueuePairState.UNKNOWN, rawState());
            case CUR_STATE -> named(currentState(), QueuePairState.UNKNOWN, rawCurrentState());
            case EN_SQD_ASYNC_NOTIFY -> isSqDrainedNotify();
            case ACCESS_FLAGS -> accessFlags();
            case PKEY_INDEX -> pkeyIndex();
            case PORT -> port();
            case QKEY -> "0x" + Integer.toHexString(qkey());
            case AV -> address();
            case PATH_MTU -> named(pathMtu(), Mtu.UNKNOWN, rawPathMtu());
            case TIMEOUT -> timeout();
            case RETRY_CNT -> retryCount();
            case RNR_RETRY -> rnrRetry();
            case RQ_PSN -> rqPsn();
            case MAX_QP_RD_ATOMIC -> maxReadAtomic();
            case ALT_PATH -> "(" + alternatePath() + ", pkeyIndex=" + alternatePkeyIndex() + ", port=" + alternatePort()
                    + ", timeout=" + alternateTimeout() + ")";
            case MIN_RNR_TIMER -> minRnrTimer();
            case SQ_PSN -> sqPsn();
            case MAX_DEST_RD_ATOMIC -> maxDestReadAtomic();
            case PATH_MIG_STATE -> named(migrationState(), MigrationState.UNKNOWN, rawMigrationState());
            case CAP -> cap();
            case DEST_QPN -> destQpn();
            case RATE_LIMIT -> rateLimit();
        };
    }

    private static Object named(Enum<?> value, Enum<?> unknown, int raw) {
        return value == unknown ? value + "(" + raw + ")" : value;
    }

    /** Returns whether {@code other} is a set of the same attributes with the same values. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof QueuePairAttributes that
                && attributes.equals(that.attributes)
                && fields.mismatch(that.fields) == -1;
    }

    /** Returns a hash of the attributes and their values. */
    @Override
    public int hashCode() {
        return 31 * attributes.hashCode() + Arrays.hashCode(fields.toArray(JAVA_INT));
    }

    /** Returns the attributes of the set with their values, such as {@code {STATE=RTR, PATH_MTU=MTU_1024}}. */
    @Override
    public String toString() {
        StringJoiner text = new StringJoiner(", ", "{", "}");
        for (QueuePairAttribute attribute : attributes) {
            text.add(attribute + "=" + value(attribute));
        }
        return text.toString();
    }
}
