package org.kverbs.embedded.internal.objects;

import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.Errno;

/** Stands for a port without a cable. */
public final class UnpluggedPort implements PacketPort {

    public static final UnpluggedPort INSTANCE = new UnpluggedPort();

    private UnpluggedPort() {}

    @Override
    public int open() {
        return -Errno.ENETDOWN;
    }

    @Override
    public void send(Packet packet) {}

    @Override
    public boolean leadsTo(long gidHigh, long gidLow) {
        return false;
    }

    @Override
    public boolean isUsualTo(long gidHigh, long gidLow) {
        return false;
    }

    @Override
    public boolean carriesWholeMessages() {
        return false;
    }

    @Override
    public int window() {
        return 1;
    }

    @Override
    public void look(boolean waits) {}

    @Override
    public boolean catchUp() {
        return true;
    }

    @Override
    public int joinGroup(long gidHigh, long gidLow) {
        return -Errno.ENETDOWN;
    }

    @Override
    public void leaveGroup(long gidHigh, long gidLow) {}

    @Override
    public void close() {}
}
