package org.kverbs.cm;

/**
 * The reason of a rejected connection request, from the REJ message (IBA volume 1, section 12.6.7.2). It is the status
 * of {@link ConnectionEventType#REJECTED}, except on iWARP, which has no reasons.
 */
public enum RejectReason {
    /** The peer has no queue pair left. */
    NO_QP(1),
    /** The peer has no end-to-end context left. */
    NO_EEC(2),
    /** The peer has no resources left. */
    NO_RESOURCES(3),
    /** The peer got no answer from this side in time. */
    TIMEOUT(4),
    /** The peer does not support the request. */
    UNSUPPORTED(5),
    /** The peer does not know the communication id. */
    INVALID_COMM_ID(6),
    /** The communication instance is wrong. */
    INVALID_COMM_INSTANCE(7),
    /** No program listens: no service has the id that the port and the port space make. */
    INVALID_SERVICE_ID(8),
    /** The transport is not the one of the service. */
    INVALID_TRANSPORT_TYPE(9),
    /** The peer still has a connection of this queue pair. */
    STALE_CONNECTION(10),
    /** The domain of reliable datagrams does not exist. */
    RDC_NOT_EXIST(11),
    /** The GID of the path is not the peer's. */
    INVALID_GID(12),
    /** The LID of the path is not the peer's. */
    INVALID_LID(13),
    /** The service level of the path is wrong. */
    INVALID_SERVICE_LEVEL(14),
    /** The traffic class of the path is wrong. */
    INVALID_TRAFFIC_CLASS(15),
    /** The hop limit of the path is too low. */
    INVALID_HOP_LIMIT(16),
    /** The packet rate of the path is wrong. */
    INVALID_PACKET_RATE(17),
    /** The GID of the alternate path is not the peer's. */
    INVALID_ALTERNATE_GID(18),
    /** The LID of the alternate path is not the peer's. */
    INVALID_ALTERNATE_LID(19),
    /** The service level of the alternate path is wrong. */
    INVALID_ALTERNATE_SERVICE_LEVEL(20),
    /** The traffic class of the alternate path is wrong. */
    INVALID_ALTERNATE_TRAFFIC_CLASS(21),
    /** The hop limit of the alternate path is too low. */
    INVALID_ALTERNATE_HOP_LIMIT(22),
    /** The packet rate of the alternate path is wrong. */
    INVALID_ALTERNATE_PACKET_RATE(23),
    /** Another port and another connection manager have the service. */
    PORT_AND_CM_REDIRECT(24),
    /** Another port has the service. */
    PORT_REDIRECT(25),
    /** The packets of the path are too large for the peer. */
    INVALID_MTU(26),
    /** The peer cannot serve so many reads and atomics at once. */
    INSUFFICIENT_RESPONDER_RESOURCES(27),
    /** The peer's program rejected the request. Its private data can give the reason. */
    CONSUMER_DEFINED(28),
    /** The receiver-not-ready retry count is wrong. */
    INVALID_RNR_RETRY(29),
    /** The communication id is in use already. */
    DUPLICATE_LOCAL_COMM_ID(30),
    /** The peer speaks another version of the protocol. */
    INVALID_CLASS_VERSION(31),
    /** The flow label of the path is wrong. */
    INVALID_FLOW_LABEL(32),
    /** The flow label of the alternate path is wrong. */
    INVALID_ALTERNATE_FLOW_LABEL(33),
    /** The peer does not know the vendor's options; see {@link org.kverbs.attributes.Ece}. */
    VENDOR_OPTION_NOT_SUPPORTED(35),
    /** A reason that this release of kverbs has no name for, or no reason. */
    UNKNOWN(-1);

    private static final RejectReason[] ALL = values();

    private final int code;

    RejectReason(int code) {
        this.code = code;
    }

    /** Returns the number that the message carries; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /**
     * Returns the reason for the status of a SIDR_REP message, the answer to a request for datagrams (IBA volume 1,
     * section 12.7.1). That message has numbers of its own.
     */
    static RejectReason ofDatagramStatus(int status) {
        return switch (status) {
            case 1 -> INVALID_SERVICE_ID;
            case 2 -> CONSUMER_DEFINED;
            case 3 -> NO_QP;
            case 4 -> PORT_AND_CM_REDIRECT;
            case 5 -> INVALID_CLASS_VERSION;
            default -> UNKNOWN;
        };
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static RejectReason of(int code) {
        for (RejectReason each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
