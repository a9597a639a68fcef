package org.kverbs.embedded.internal.wire;

/**
 * Lists the opcodes of the BTH (IBA volume 1, 9.2.1) that the device supports, and their properties. The upper three
 * bits are the transport, the lower five the operation. All functions take 0 to 255 and allocate nothing.
 */
public final class Opcode {

    /** The transports; results of {@link #transport}. */
    public static final int RC = 0x00;
    public static final int UC = 0x20;
    public static final int UD = 0x60;
    /** Extended reliable connection: the operations of RC, whose requests have an XRCETH. */
    public static final int XRC = 0xa0;

    public static final int RC_SEND_FIRST = 0x00;
    public static final int RC_SEND_MIDDLE = 0x01;
    public static final int RC_SEND_LAST = 0x02;
    public static final int RC_SEND_LAST_IMMEDIATE = 0x03;
    public static final int RC_SEND_ONLY = 0x04;
    public static final int RC_SEND_ONLY_IMMEDIATE = 0x05;
    public static final int RC_WRITE_FIRST = 0x06;
    public static final int RC_WRITE_MIDDLE = 0x07;
    public static final int RC_WRITE_LAST = 0x08;
    public static final int RC_WRITE_LAST_IMMEDIATE = 0x09;
    public static final int RC_WRITE_ONLY = 0x0a;
    public static final int RC_WRITE_ONLY_IMMEDIATE = 0x0b;
    public static final int RC_READ_REQUEST = 0x0c;
    public static final int RC_READ_RESPONSE_FIRST = 0x0d;
    public static final int RC_READ_RESPONSE_MIDDLE = 0x0e;
    public static final int RC_READ_RESPONSE_LAST = 0x0f;
    public static final int RC_READ_RESPONSE_ONLY = 0x10;
    public static final int RC_ACK = 0x11;
    public static final int RC_ATOMIC_ACK = 0x12;
    public static final int RC_COMPARE_SWAP = 0x13;
    public static final int RC_FETCH_ADD = 0x14;
    public static final int RC_SEND_LAST_INVALIDATE = 0x16;
    public static final int RC_SEND_ONLY_INVALIDATE = 0x17;
    /** Annex A19. */
    public static final int RC_FLUSH = 0x1c;
    /** Annex A19. */
    public static final int RC_ATOMIC_WRITE = 0x1d;

    public static final int UC_SEND_FIRST = 0x20;
    public static final int UC_SEND_MIDDLE = 0x21;
    public static final int UC_SEND_LAST = 0x22;
    public static final int UC_SEND_LAST_IMMEDIATE = 0x23;
    public static final int UC_SEND_ONLY = 0x24;
    public static final int UC_SEND_ONLY_IMMEDIATE = 0x25;
    public static final int UC_WRITE_FIRST = 0x26;
    public static final int UC_WRITE_MIDDLE = 0x27;
    public static final int UC_WRITE_LAST = 0x28;
    public static final int UC_WRITE_LAST_IMMEDIATE = 0x29;
    public static final int UC_WRITE_ONLY = 0x2a;
    public static final int UC_WRITE_ONLY_IMMEDIATE = 0x2b;

    public static final int UD_SEND_ONLY = 0x64;
    public static final int UD_SEND_ONLY_IMMEDIATE = 0x65;

    /**
     * RoCEv2's congestion notification (annex A17): known, so that it does not count as an error, but of no transport,
     * and neither request nor response.
     */
    public static final int CNP = 0x81;

    static final int BTH_LENGTH = 12;
    static final int DETH_LENGTH = 8;
    static final int XRCETH_LENGTH = 4;
    static final int FETH_LENGTH = 4;
    static final int RETH_LENGTH = 16;
    static final int ATOMIC_ETH_LENGTH = 28;
    static final int AETH_LENGTH = 4;
    static final int ATOMIC_ACK_LENGTH = 8;
    /** ImmDt or IETH. */
    static final int IMMEDIATE_LENGTH = 4;
    /** The bytes after a CNP's BTH, which have no meaning. */
    private static final int CNP_RESERVED = 16;

    private static final int DETH = 1;
    private static final int RETH = 1 << 1;
    private static final int ATOMIC_ETH = 1 << 2;
    private static final int AETH = 1 << 3;
    private static final int ATOMIC_ACK = 1 << 4;
    private static final int IMMEDIATE = 1 << 5;
    private static final int INVALIDATE = 1 << 6;
    private static final int PAYLOAD = 1 << 7;
    private static final int FIRST = 1 << 8;
    private static final int MIDDLE = 1 << 9;
    private static final int LAST = 1 << 10;
    private static final int ONLY = 1 << 11;
    private static final int REQUEST = 1 << 12;
    private static final int RESPONSE = 1 << 13;
    private static final int XRCETH = 1 << 14;
    private static final int FETH = 1 << 15;
    /** The bits from here up hold the length of the headers in bytes. */
    private static final int LENGTH_SHIFT = 16;

    private static final int[] TRAITS = new int[256];

    static {
        sendsAndWrites(RC);
        sendsAndWrites(UC);
        sendsAndWrites(XRC);
        reliable(RC);
        reliable(XRC);
        put(RC_FLUSH, REQUEST | ONLY | FETH | RETH);
        put(RC_ATOMIC_WRITE, REQUEST | ONLY | RETH | PAYLOAD);
        put(UD_SEND_ONLY, REQUEST | ONLY | DETH | PAYLOAD);
        put(UD_SEND_ONLY_IMMEDIATE, REQUEST | ONLY | DETH | IMMEDIATE | PAYLOAD);
        TRAITS[CNP] = (BTH_LENGTH + CNP_RESERVED) << LENGTH_SHIFT;
    }

    private Opcode() {}

    /** Sets the opcodes that RC, XRC and UC have in common. Only the first packet of a write carries the RETH. */
    private static void sendsAndWrites(int transport) {
        for (int write = 0; write <= 1; write++) {
            int first = transport + (write == 0 ? RC_SEND_FIRST : RC_WRITE_FIRST);
            int begin = REQUEST | PAYLOAD | (write == 0 ? 0 : RETH);
            put(first, begin | FIRST);
            put(first + 1, REQUEST | PAYLOAD | MIDDLE);
            put(first + 2, REQUEST | PAYLOAD | LAST);
            put(first + 3, REQUEST | PAYLOAD | LAST | IMMEDIATE);
            put(first + 4, begin | ONLY);
            put(first + 5, begin | ONLY | IMMEDIATE);
        }
    }

    /** Sets the opcodes that only the reliable transports have. */
    private static void reliable(int transport) {
        put(transport + RC_SEND_LAST_INVALIDATE, REQUEST | LAST | INVALIDATE | PAYLOAD);
        put(transport + RC_SEND_ONLY_INVALIDATE, REQUEST | ONLY | INVALIDATE | PAYLOAD);
        put(transport + RC_READ_REQUEST, REQUEST | ONLY | RETH);
        put(transport + RC_COMPARE_SWAP, REQUEST | ONLY | ATOMIC_ETH);
        put(transport + RC_FETCH_ADD, REQUEST | ONLY | ATOMIC_ETH);
        put(transport + RC_READ_RESPONSE_FIRST, RESPONSE | FIRST | AETH | PAYLOAD);
        put(transport + RC_READ_RESPONSE_MIDDLE, RESPONSE | MIDDLE | PAYLOAD);
        put(transport + RC_READ_RESPONSE_LAST, RESPONSE | LAST | AETH | PAYLOAD);
        put(transport + RC_READ_RESPONSE_ONLY, RESPONSE | ONLY | AETH | PAYLOAD);
        put(transport + RC_ACK, RESPONSE | ONLY | AETH);
        put(transport + RC_ATOMIC_ACK, RESPONSE | ONLY | AETH | ATOMIC_ACK);
    }

    private static void put(int opcode, int given) {
        int traits = transport(opcode) == XRC && (given & REQUEST) != 0 ? given | XRCETH : given;
        int length = BTH_LENGTH
                + ((traits & DETH) != 0 ? DETH_LENGTH : 0)
                + ((traits & XRCETH) != 0 ? XRCETH_LENGTH : 0)
                + ((traits & FETH) != 0 ? FETH_LENGTH : 0)
                + ((traits & RETH) != 0 ? RETH_LENGTH : 0)
                + ((traits & ATOMIC_ETH) != 0 ? ATOMIC_ETH_LENGTH : 0)
                + ((traits & AETH) != 0 ? AETH_LENGTH : 0)
                + ((traits & ATOMIC_ACK) != 0 ? ATOMIC_ACK_LENGTH : 0)
                + ((traits & (IMMEDIATE | INVALIDATE)) != 0 ? IMMEDIATE_LENGTH : 0);
        TRAITS[opcode] = traits | length << LENGTH_SHIFT;
    }

    private static boolean has(int opcode, int trait) {
        return (TRAITS[opcode] & trait) != 0;
    }

    /**
     * Tells whether an opcode is one of the constants above. For an unknown opcode all other functions return false or
     * 0.
     */
    public static boolean known(int opcode) {
        return TRAITS[opcode] != 0;
    }

    /**
     * Returns {@link #RC}, {@link #XRC}, {@link #UC}, {@link #UD}, or another number for a CNP and for unknown opcodes.
     */
    public static int transport(int opcode) {
        return opcode & 0xe0;
    }

    /** Returns the opcode that RC has for the same operation: all transports number their operations as RC does. */
    public static int operation(int opcode) {
        return opcode & 0x1f;
    }

    /** Returns the length of the BTH and all headers after it, up to the payload. */
    public static int headerLength(int opcode) {
        return TRAITS[opcode] >>> LENGTH_SHIFT;
    }

    /** Tells whether the packet is a request; acknowledgements and read responses are not. */
    public static boolean isRequest(int opcode) {
        return has(opcode, REQUEST);
    }

    public static boolean isResponse(int opcode) {
        return has(opcode, RESPONSE);
    }

    /** Tells whether congestion control acts on the packet: requests and data of reads, but not datagrams. */
    public static boolean isControlled(int opcode) {
        return transport(opcode) != UD && (isRequest(opcode) || hasPayload(opcode));
    }

    public static boolean isFirst(int opcode) {
        return has(opcode, FIRST);
    }

    public static boolean isMiddle(int opcode) {
        return has(opcode, MIDDLE);
    }

    public static boolean isLast(int opcode) {
        return has(opcode, LAST);
    }

    /**
     * Tells whether the message consists of this packet alone; true also for read requests, flushes, atomic
     * requests and acknowledgements.
     */
    public static boolean isOnly(int opcode) {
        return has(opcode, ONLY);
    }

    /** Tells whether the message begins with this packet. */
    public static boolean begins(int opcode) {
        return has(opcode, FIRST | ONLY);
    }

    /** Tells whether the packet is a part of a send. */
    public static boolean isSend(int opcode) {
        int operation = operation(opcode);
        return operation <= RC_SEND_ONLY_IMMEDIATE
                || operation == RC_SEND_LAST_INVALIDATE
                || operation == RC_SEND_ONLY_INVALIDATE;
    }

    /** Tells whether the packet may carry a payload; the payload may be empty. */
    public static boolean hasPayload(int opcode) {
        return has(opcode, PAYLOAD);
    }

    /** Tells whether there is a datagram header: Q_Key and source QP. IBA volume 1, 9.3. */
    public static boolean hasDeth(int opcode) {
        return has(opcode, DETH);
    }

    /** Tells whether there is an XRCETH: the number of a shared receive queue. IBA volume 1, 9.3. */
    public static boolean hasXrcEth(int opcode) {
        return has(opcode, XRCETH);
    }

    /** Tells whether there is a FETH: how far, and what part of a region, a flush concerns. IBA volume 1, annex A19. */
    public static boolean hasFeth(int opcode) {
        return has(opcode, FETH);
    }

    /** Tells whether there is a RETH: address, key and length of the whole transfer. IBA volume 1, 9.3. */
    public static boolean hasReth(int opcode) {
        return has(opcode, RETH);
    }

    /** Tells whether there is an AtomicETH: address, key and operands. IBA volume 1, 9.3. */
    public static boolean hasAtomicEth(int opcode) {
        return has(opcode, ATOMIC_ETH);
    }

    /** Tells whether there is an AETH: syndrome and message number. IBA volume 1, 9.3. */
    public static boolean hasAeth(int opcode) {
        return has(opcode, AETH);
    }

    /** Tells whether there is an AtomicAckETH: the old value. IBA volume 1, 9.3. */
    public static boolean hasAtomicAck(int opcode) {
        return has(opcode, ATOMIC_ACK);
    }

    public static boolean hasImmediate(int opcode) {
        return has(opcode, IMMEDIATE);
    }

    /** Tells whether there is an IETH: a key that the receiver must invalidate. */
    public static boolean hasInvalidate(int opcode) {
        return has(opcode, INVALIDATE);
    }
}
