package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvContext;
import org.kverbs.internal.abi.IbvDevice;
import org.kverbs.internal.abi.RdmaCmId;
import org.kverbs.internal.abi.RdmaCmJoinMcAttrEx;
import org.kverbs.internal.abi.RdmaCmJoinMcAttrMask;
import org.kverbs.internal.abi.RdmaEventChannel;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ConnectionManager;

/** The connection manager of the kernel, called through librdmacm. */
final class NativeConnectionManager implements ConnectionManager {

    private static final int JOIN_MASK = RdmaCmJoinMcAttrMask.RDMA_CM_JOIN_MC_ATTR_ADDRESS
            | RdmaCmJoinMcAttrMask.RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

    /** RDMA_CM_EVENT_USER, which the headers have since rdma-core 60. */
    private static final int USER_EVENT = 18;

    private final Librdmacm rdma = new Librdmacm();
    private final WaitableFds channels = new WaitableFds();

    @Override
    public boolean isNative() {
        return true;
    }

    @Override
    public long createEventChannel() {
        long channel = rdma.createEventChannel();
        if (channel < 0) {
            return channel;
        }
        int result = channels.add(channel, eventChannelFd(channel));
        if (result < 0) {
            rdma.destroyEventChannel(channel);
            return result;
        }
        return channel;
    }

    @Override
    public int destroyEventChannel(long channel) {
        return channels.remove(channel, () -> {
            rdma.destroyEventChannel(channel);
            return 0;
        });
    }

    @Override
    public int eventChannelFd(long channel) {
        return Memory.at(channel, RdmaEventChannel.SIZE).get(JAVA_INT, RdmaEventChannel.FD);
    }

    @Override
    public long awaitEvent(long channel, long timeoutNanos) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment event = arena.allocate(ADDRESS);
            int result = channels.await(channel, timeoutNanos, () -> rdma.getCmEvent(channel, event.address()));
            return result <= 0 ? result : event.get(JAVA_LONG, 0);
        }
    }

    @Override
    public int ackEvent(long event) {
        return rdma.ackCmEvent(event);
    }

    @Override
    public void wakeEventChannel(long channel) {
        channels.wake(channel);
    }

    @Override
    public List<String> deviceNames() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_INT);
            long list = rdma.getDevices(count.address());
            if (list <= 0) {
                return List.of(); // no device, or the system refuses
            }
            try {
                var names = new ArrayList<String>();
                for (int i = 0; i < count.get(JAVA_INT, 0); i++) {
                    names.add(deviceOf(Memory.at(list + i * ADDRESS.byteSize(), ADDRESS.byteSize()).get(JAVA_LONG, 0)));
                }
                return List.copyOf(names);
            } finally {
                rdma.freeDevices(list);
            }
        }
    }

    @Override
    public long createId(long channel, int portSpace) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment id = arena.allocate(ADDRESS);
            int result = rdma.createId(channel, id.address(), portSpace);
            return result < 0 ? result : id.get(JAVA_LONG, 0);
        }
    }

    @Override
    public int destroyId(long id) {
        return rdma.destroyId(id);
    }

    @Override
    public int migrateId(long id, long channel) {
        return rdma.migrateId(id, channel);
    }

    private static long context(long id) {
        return Memory.at(id, RdmaCmId.SIZE).get(JAVA_LONG, RdmaCmId.VERBS);
    }

    /**
     * Makes a call for an id that is bound to a device. Librdmacm follows {@code id->verbs} in these calls, and a null
     * pointer would crash the program.
     */
    private static int onDevice(long id, IntSupplier call) {
        return context(id) == 0 ? -Errno.EINVAL : call.getAsInt();
    }

    @Override
    public @Nullable String deviceName(long id) {
        long context = context(id);
        return context == 0 ? null : deviceOf(context);
    }

    private static String deviceOf(long context) {
        long device = Memory.at(context, IbvContext.SIZE).get(JAVA_LONG, IbvContext.DEVICE);
        return Memory.at(device, IbvDevice.SIZE).asSlice(IbvDevice.NAME).getString(0);
    }

    @Override
    public int bindAddress(long id, MemorySegment address) {
        return rdma.bindAddr(id, address.address());
    }

    @Override
    public int resolveAddress(long id, @Nullable MemorySegment source, MemorySegment destination, int timeoutMillis) {
        return rdma.resolveAddr(id, addressOf(source), destination.address(), timeoutMillis);
    }

    private static long addressOf(@Nullable MemorySegment segment) {
        return segment == null ? 0 : segment.address();
    }

    @Override
    public int resolveRoute(long id, int timeoutMillis) {
        return onDevice(id, () -> rdma.resolveRoute(id, timeoutMillis));
    }

    @Override
    public int listen(long id, int backlog) {
        return rdma.listen(id, backlog);
    }

    @Override
    public int connect(long id, MemorySegment parameters) {
        return onDevice(id, () -> rdma.connect(id, parameters.address()));
    }

    @Override
    public int accept(long id, MemorySegment parameters) {
        return onDevice(id, () -> rdma.accept(id, parameters.address()));
    }

    @Override
    public int reject(long id, MemorySegment privateData) {
        return rdma.reject(id, privateData.address(), (int) privateData.byteSize());
    }

    @Override
    public int rejectEce(long id, MemorySegment privateData) {
        return rdma.rejectEce(id, privateData.address(), (int) privateData.byteSize());
    }

    @Override
    public int establish(long id) {
        return onDevice(id, () -> rdma.establish(id));
    }

    @Override
    public int disconnect(long id) {
        return onDevice(id, () -> rdma.disconnect(id));
    }

    @Override
    public int notify(long id, int event) {
        return rdma.notify(id, event);
    }

    @Override
    public int writeEvent(long id, int status, long argument) {
        return rdma.writeCmEvent(id, USER_EVENT, status, argument);
    }

    @Override
    public int initQueuePairAttributes(long id, MemorySegment attributes, MemorySegment mask) {
        return onDevice(id, () -> rdma.initQpAttr(id, attributes.address(), mask.address()));
    }

    @Override
    public int joinMulticast(long id, MemorySegment address, int joinFlags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(RdmaCmJoinMcAttrEx.SIZE, JAVA_LONG.byteAlignment());
            attributes.set(JAVA_INT, RdmaCmJoinMcAttrEx.COMP_MASK, JOIN_MASK);
            attributes.set(JAVA_INT, RdmaCmJoinMcAttrEx.JOIN_FLAGS, joinFlags);
            attributes.set(ADDRESS, RdmaCmJoinMcAttrEx.ADDR, address);
            return onDevice(id, () -> rdma.joinMulticastEx(id, attributes.address()));
        }
    }

    @Override
    public int leaveMulticast(long id, MemorySegment address) {
        return rdma.leaveMulticast(id, address.address());
    }

    @Override
    public int setOption(long id, int level, int name, MemorySegment value) {
        return rdma.setOption(id, level, name, value.address(), value.byteSize());
    }

    @Override
    public int setLocalEce(long id, MemorySegment ece) {
        return rdma.setLocalEce(id, ece.address());
    }

    @Override
    public int getRemoteEce(long id, MemorySegment ece) {
        return rdma.getRemoteEce(id, ece.address());
    }

    @Override
    public long addressInfo(@Nullable MemorySegment node, @Nullable MemorySegment service,
            @Nullable MemorySegment hints) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = arena.allocate(ADDRESS);
            int result = rdma.getaddrinfo(addressOf(node), addressOf(service), addressOf(hints), info.address());
            return result < 0 ? result : info.get(JAVA_LONG, 0);
        }
    }

    @Override
    public int resolveAddressInfo(
            long id,
            @Nullable MemorySegment node,
            @Nullable MemorySegment service,
            @Nullable MemorySegment hints) {
        return rdma.resolveAddrinfo(id, addressOf(node), addressOf(service), addressOf(hints));
    }

    @Override
    public long queryAddressInfo(long id) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = arena.allocate(ADDRESS);
            int result = rdma.queryAddrinfo(id, info.address());
            return result < 0 ? result : info.get(JAVA_LONG, 0);
        }
    }

    @Override
    public void freeAddressInfo(long info) {
        rdma.freeaddrinfo(info);
    }
}
