package org.kverbs.embedded.internal.cm;

/**
 * Lists the messages of the connection manager (IBA volume 1, 12.6 and 12.11), with numbers in host order. {@code
 * localId} is always the sender's id of the connection, {@code remoteId} the receiver's. Private data has the full
 * length that the message has room for.
 */
public sealed interface Message {

    /** Tells which message a {@link Mra} or {@link Rej} is about. */
    int ABOUT_REQ = 0;

    int ABOUT_REP = 1;
    int ABOUT_OTHER = 2;

    /** Returns the attribute id in the datagram's header. */
    int attribute();

    /**
     * Describes the path that a REQ asks for. LIDs have no meaning on Ethernet and are sent as the permissive LID.
     *
     * @param ackTimeout how long the sender waits for an acknowledgement, as 4.096 us * 2^n
     */
    record Path(
            long localGidHigh,
            long localGidLow,
            long remoteGidHigh,
            long remoteGidLow,
            int flowLabel,
            int rate,
            int trafficClass,
            int hopLimit,
            int ackTimeout) {}

    /**
     * The vendor's options that one side offers the other while they connect (rdma_set_local_ece).
     *
     * @param vendor 24 bits; 0 for no offer
     */
    record Ece(int vendor, int options) {
        static final Ece NONE = new Ece(0, 0);
    }

    /**
     * Asks for a connection.
     *
     * @param remoteTimeout how long the receiver may take to answer, as 4.096 us * 2^n; {@code localTimeout} is the
     *     same for the sender
     * @param transport 0 RC, 1 UC
     * @param mtu {@code enum ibv_mtu}
     */
    record Req(
            int localId,
            long service,
            long caGuid,
            int qkey,
            int qpn,
            int responderResources,
            int initiatorDepth,
            int remoteTimeout,
            int transport,
            boolean flowControl,
            int psn,
            int localTimeout,
            int retryCount,
            int pkey,
            int mtu,
            int rnrRetry,
            int maxCmRetries,
            boolean srq,
            Path path,
            byte[] privateData,
            Ece ece)
            implements Message {
        static final int PRIVATE = 92;

        /** Makes a request without vendor's options. */
        public Req(int localId, long service, long caGuid, int qkey, int qpn, int responderResources,
                int initiatorDepth, int remoteTimeout, int transport, boolean flowControl, int psn, int localTimeout,
                int retryCount, int pkey, int mtu, int rnrRetry, int maxCmRetries, boolean srq, Path path,
                byte[] privateData) {
            this(localId, service, caGuid, qkey, qpn, responderResources, initiatorDepth, remoteTimeout, transport,
                    flowControl, psn, localTimeout, retryCount, pkey, mtu, rnrRetry, maxCmRetries, srq, path,
                    privateData, Ece.NONE);
        }

        @Override
        public int attribute() {
            return 0x10;
        }
    }

    /** Asks for more time: the answer comes within {@code serviceTimeout}, 4.096 us * 2^n. */
    record Mra(int localId, int remoteId, int about, int serviceTimeout, byte[] privateData) implements Message {
        static final int PRIVATE = 222;

        @Override
        public int attribute() {
            return 0x11;
        }
    }

    /** Refuses; {@code information} belongs to the reason and has at most 72 bytes. */
    record Rej(int localId, int remoteId, int about, int reason, byte[] information,
            byte[] privateData) implements Message {
        static final int INFORMATION = 72;
        static final int PRIVATE = 148;

        @Override
        public int attribute() {
            return 0x12;
        }
    }

    /** Accepts a REQ. */
    record Rep(
            int localId,
            int remoteId,
            int qkey,
            int qpn,
            int psn,
            int responderResources,
            int initiatorDepth,
            int ackDelay,
            int failover,
            boolean flowControl,
            int rnrRetry,
            boolean srq,
            long caGuid,
            byte[] privateData,
            Ece ece)
            implements Message {
        static final int PRIVATE = 196;

        /** Makes an answer without vendor's options. */
        public Rep(int localId, int remoteId, int qkey, int qpn, int psn, int responderResources, int initiatorDepth,
                int ackDelay, int failover, boolean flowControl, int rnrRetry, boolean srq, long caGuid,
                byte[] privateData) {
            this(localId, remoteId, qkey, qpn, psn, responderResources, initiatorDepth, ackDelay, failover,
                    flowControl, rnrRetry, srq, caGuid, privateData, Ece.NONE);
        }

        @Override
        public int attribute() {
            return 0x13;
        }
    }

    /** Confirms a REP: its receiver may send. */
    record Rtu(int localId, int remoteId, byte[] privateData) implements Message {
        static final int PRIVATE = 224;

        @Override
        public int attribute() {
            return 0x14;
        }
    }

    /** Ends a connection; {@code remoteQpn} is the receiver's. */
    record Dreq(int localId, int remoteId, int remoteQpn, byte[] privateData) implements Message {
        static final int PRIVATE = 220;

        @Override
        public int attribute() {
            return 0x15;
        }
    }

    /** Confirms a DREQ. */
    record Drep(int localId, int remoteId, byte[] privateData) implements Message {
        static final int PRIVATE = 224;

        @Override
        public int attribute() {
            return 0x16;
        }
    }

    /** Asks for the queue pair behind a service, for datagrams. */
    record SidrReq(int requestId, int pkey, long service, byte[] privateData) implements Message {
        static final int PRIVATE = 216;

        @Override
        public int attribute() {
            return 0x17;
        }
    }

    /** Answers a {@link SidrReq}; status 0 means success. */
    record SidrRep(int requestId, int status, int qpn, long service, int qkey, byte[] information, byte[] privateData)
            implements Message {
        static final int INFORMATION = 72;
        static final int PRIVATE = 136;

        @Override
        public int attribute() {
            return 0x18;
        }
    }

    /** Asks for another path, which RoCE devices do not have. The details of the path are not read. */
    record Lap(int localId, int remoteId) implements Message {
        @Override
        public int attribute() {
            return 0x19;
        }
    }

    /** Answers a {@link Lap}. */
    record Apr(int localId, int remoteId, int status) implements Message {
        @Override
        public int attribute() {
            return 0x1a;
        }
    }
}
