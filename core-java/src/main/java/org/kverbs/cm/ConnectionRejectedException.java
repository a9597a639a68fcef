package org.kverbs.cm;

import java.io.Serial;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** Reports that a peer or its connection manager rejected a request. */
public class ConnectionRejectedException extends ConnectionException {
    @Serial private static final long serialVersionUID = 1L;

    private final RejectReason reason;
    private final int rawReason;
    private final byte[] privateData;

    ConnectionRejectedException(
            ConnectionStep step,
            @Nullable InetSocketAddress address,
            RejectReason reason,
            int status,
            byte[] privateData,
            String why) {
        super(step, address, Math.max(0, -status), why);
        this.reason = reason;
        this.rawReason = Math.max(0, status);
        this.privateData = privateData.clone();
    }

    /** Returns the reason. It is UNKNOWN on iWARP, which gives only {@link #errno}. */
    public RejectReason reason() {
        return reason;
    }

    /**
     * Returns the number of {@link #reason} in the REJ message, or for datagrams in the SIDR_REP message; 0 for none.
     */
    public int rawReason() {
        return rawReason;
    }

    /**
     * Returns a copy of the private data of the peer's program, which can be empty. On InfiniBand and RoCE it ends in
     * zeros.
     */
    public byte[] privateData() {
        return privateData.clone();
    }
}
