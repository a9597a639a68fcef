package org.kverbs.embedded.internal.cm;

/** Lists the reasons with which the embedded devices refuse a connection (IBA volume 1, 12.6.7.2). */
final class Reject {

    static final int NO_RESOURCES = 3;
    static final int TIMEOUT = 4;
    static final int UNSUPPORTED = 5;
    static final int INVALID_ID = 6;
    static final int INVALID_SERVICE = 8;
    static final int INVALID_TRANSPORT = 9;
    static final int STALE = 10;
    static final int INVALID_GID = 12;
    static final int INVALID_MTU = 26;
    static final int CONSUMER = 28;
    static final int VENDOR_OPTION = 35;

    private Reject() {}
}
