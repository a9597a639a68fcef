package org.kverbs.embedded.internal.verbs;

import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.PortVerbs;

/** Further questions about the port of an embedded device. It has no Ethernet addresses. */
record EmbeddedPorts(Hca hca) implements PortVerbs {

    /** One lane of 2.5 Gb/s, as the port's attributes say, in units of 100 Mb/s. */
    private static final long SPEED = 25;

    @Override
    public long queryPortSpeed(int port) {
        hca.engine.enter();
        try {
            int refusal = hca.refuse(Operation.QUERY_PORT);
            if (refusal < 0) {
                return refusal;
            }
            return port == Limits.PORT ? SPEED : -Errno.EINVAL;
        } finally {
            hca.engine.leave();
        }
    }
}
