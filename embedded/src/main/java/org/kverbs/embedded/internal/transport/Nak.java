package org.kverbs.embedded.internal.transport;

/** Lists the values of an AETH's syndrome (IBA volume 1, tables 43 and 44). */
final class Nak {

    static final int SEQUENCE = 0;
    static final int INVALID_REQUEST = 1;
    static final int REMOTE_ACCESS = 2;
    static final int REMOTE_OPERATION = 3;

    /** A positive acknowledgement without credits. */
    static final int ACK = 0x1f;

    private static final int NOT_READY = 0x20;
    private static final int REFUSED = 0x60;

    private Nak() {}

    static int syndrome(int code) {
        return REFUSED | code;
    }

    static int notReady(int timer) {
        return NOT_READY | timer;
    }
}
