package org.kverbs.cm;

import java.io.Serial;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/** A peer, or its connection manager, that said no. */
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

    /** Why; UNKNOWN on iWARP, where {@link #errno} is all there is. */
    public RejectReason reason() {
        return reason;
    }

    /** The number behind {@link #reason}: of the REJ message, or for datagrams of the SIDR_REP message; 0 for none. */
    public int rawReason() {
        return rawReason;
    }

    /** What the peer's program said along with it, with zeros behind it on InfiniBand and RoCE; maybe empty. */
    public byte[] privateData() {
        return privateData.clone();
    }
}
