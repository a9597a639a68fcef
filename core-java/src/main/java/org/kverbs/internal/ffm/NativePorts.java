package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.ffm.NativeLibrary.Function;
import org.kverbs.spi.PortVerbs;

/** Further questions about the ports of an open device of libibverbs. */
final class NativePorts implements PortVerbs {

    private final Libibverbs verbs;
    private final long context;
    private final Function queryPortSpeed;

    NativePorts(Libibverbs verbs, long context) {
        this.verbs = verbs;
        this.context = context;
        this.queryPortSpeed = verbs.function("ibv_query_port_speed", 62);
    }

    // man 3 ibv_query_port_speed: 0 or errno
    @Override
    public long queryPortSpeed(int port) {
        if (!queryPortSpeed.isPresent()) {
            return -Errno.ENOSYS;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment speed = arena.allocate(JAVA_LONG);
            int result = Downcalls.status(
                    Downcalls.withErrno(queryPortSpeed.address(), context, port, speed.address()));
            return result < 0 ? result : speed.get(JAVA_LONG, 0);
        }
    }

    /**
     * Returns whether the driver tells the speed of a port. The library keeps the driver's function to itself, so this
     * asks for the first port.
     */
    boolean tellSpeed() {
        long answer = queryPortSpeed(1);
        return answer != -Errno.ENOSYS && answer != -Errno.EOPNOTSUPP && answer != -Errno.EPROTONOSUPPORT;
    }

    @Override
    public int resolveEthernet(MemorySegment address, MemorySegment mac, MemorySegment vlan) {
        return verbs.resolveEthL2FromGid(context, address.address(), mac.address(), vlan.address());
    }
}
