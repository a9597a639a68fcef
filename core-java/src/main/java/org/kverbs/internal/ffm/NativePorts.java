package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.PortVerbs;

/** Further questions about the ports of an open device of libibverbs. */
record NativePorts(Libibverbs verbs, long context) implements PortVerbs {

    @Override
    public long queryPortSpeed(int port) {
        if (!verbs.hasPortSpeed()) {
            return -Errno.ENOSYS;
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment speed = arena.allocate(JAVA_LONG);
            int result = verbs.queryPortSpeed(context, port, speed.address());
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
