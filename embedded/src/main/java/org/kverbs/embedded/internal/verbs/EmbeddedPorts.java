package org.kverbs.embedded.internal.verbs;

import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.PortVerbs;

/** Further questions about the port of an embedded device. It has no Ethernet addresses. */
record EmbeddedPorts(DeviceCalls calls) implements PortVerbs {

    /** One lane of 2.5 Gb/s, as the port's attributes say, in units of 100 Mb/s. */
    private static final long SPEED = 25;

    @Override
    public long queryPortSpeed(int port) {
        return calls.make(Operation.QUERY_PORT, () -> port == Limits.PORT ? SPEED : -Errno.EINVAL);
    }
}
