package org.kverbs.embedded.internal.cm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.Condition;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.LockedCalls;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvEce;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.abi.RdmaOption;
import org.kverbs.internal.abi.RdmaOptionId;
import org.kverbs.internal.abi.RdmaPortSpace;
import org.kverbs.spi.ConnectionManager;

/** Implements librdmacm's calls, on its C structures, for embedded devices that share an engine. */
public final class EmbeddedConnectionManager implements ConnectionManager {

    private final Engine engine;
    private final LockedCalls calls;
    final Host host;
    private final Map<Long, EventChannel> channels = new HashMap<>();
    /** Events that the program took and has not acknowledged. */
    private final Map<Long, CmEvent> taken = new HashMap<>();
    private final Condition acknowledged;
    private final AddressNames names = new AddressNames();
    private final AddressQueries queries = new AddressQueries(names);
    private volatile String reach = "";

    /** @param random draws connection ids, packet sequence numbers and ports */
    public EmbeddedConnectionManager(Engine engine, Random random) {
        this.engine = engine;
        this.calls = new LockedCalls(engine);
        this.host = new Host(engine, random);
        this.acknowledged = engine.condition();
    }

    /** Adds a device of the same engine: answers its connection requests, and lets ids use it. */
    public void add(Hca device) {
        calls.run(() -> {
            device.gsi().serve(host.agent);
            host.devices.add(device);
        });
    }

    @Override
    public String reach() {
        return reach;
    }

    /** Sets the sentences that {@link #reach()} returns from now on. */
    public void reach(String sentences) {
        reach = sentences;
    }

    /**
     * Sets how many half-open connections may wait for the program, and how many for their peer, for each listener that
     * starts from now on.
     */
    public void limitHalfOpen(int most) {
        calls.run(() -> host.mostHalfOpen = most);
    }

    @Override
    public List<String> deviceNames() {
        return calls.find(() -> host.devices.all().stream().map(Hca::name).toList());
    }

    private int with(long id, ToIntFunction<Id> action) {
        return calls.call(() -> {
            Id found = host.ids.get(id);
            return found == null ? -Errno.EINVAL : action.applyAsInt(found);
        });
    }

    private @Nullable EventChannel channel(long handle) {
        return calls.find(() -> channels.get(handle));
    }

    @Override
    public long createEventChannel() {
        return openChannel(null);
    }

    @Override
    public long createEventChannel(String device) {
        return openChannel(device);
    }

    private long openChannel(@Nullable String device) {
        return calls.make(() -> {
            var channel = new EventChannel(engine, device);
            channels.put(channel.handle(), channel);
            return channel.handle();
        });
    }

    @Override
    public int destroyEventChannel(long channel) {
        return calls.call(() -> {
            EventChannel found = channels.remove(channel);
            if (found == null) {
                return -Errno.EINVAL;
            }
            taken.values().removeIf(event -> event.id.channel() == found);
            for (Id id : List.copyOf(host.ids.values())) {
                if (id.channel() == found) {
                    id.destroy();
                }
            }
            queries.sweep(host);
            found.events.wake();
            acknowledged.signalAll();
            return 0;
        });
    }

    @Override
    public int eventChannelFd(long channel) {
        return -1;
    }

    @Override
    public long awaitEvent(long channel, long timeoutNanos) {
        EventChannel found = channel(channel);
        return found == null ? -Errno.EINVAL : found.events.await(timeoutNanos, event -> {
            if (event.listener != null) {
                event.listener.requestTaken();
            }
            event.id.unacknowledged++;
            taken.put(event.handle(), event);
            return event.handle();
        });
    }

    @Override
    public int ackEvent(long event) {
        return calls.call(() -> {
            CmEvent found = taken.remove(event);
            if (found == null) {
                return -Errno.EINVAL;
            }
            found.id.unacknowledged--;
            acknowledged.signalAll();
            return 0;
        });
    }

    @Override
    public void wakeEventChannel(long channel) {
        EventChannel found = channel(channel);
        if (found != null) {
            found.events.wake();
        }
    }

    @Override
    public long createId(long channel, int portSpace) {
        return calls.make(() -> {
            EventChannel found = channels.get(channel);
            if (portSpace == RdmaPortSpace.RDMA_PS_IPOIB || portSpace == RdmaPortSpace.RDMA_PS_IB) {
                return -Errno.EOPNOTSUPP;
            }
            boolean known = portSpace == RdmaPortSpace.RDMA_PS_TCP || portSpace == RdmaPortSpace.RDMA_PS_UDP;
            return found == null || !known ? -Errno.EINVAL : host.add(new Id(host, found, portSpace)).handle();
        });
    }

    @Override
    public int destroyId(long id) {
        return with(id, found -> {
            try {
                while (found.unacknowledged > 0 && host.ids.containsKey(id)) {
                    engine.await(acknowledged, Long.MAX_VALUE);
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return -Errno.EINTR;
            }
            if (host.ids.containsKey(id)) {
                found.destroy();
                queries.sweep(host);
            }
            return 0;
        });
    }

    @Override
    public int migrateId(long id, long channel) {
        return with(id, found -> {
            EventChannel to = channels.get(channel);
            if (to == null) {
                return -Errno.EINVAL;
            }
            found.migrate(to);
            return 0;
        });
    }

    @Override
    public @Nullable String deviceName(long id) {
        return calls.find(() -> {
            Id found = host.ids.get(id);
            return found == null ? null : found.deviceName();
        });
    }

    @Override
    public int bindAddress(long id, MemorySegment address) {
        Address to = Address.read(address);
        return to == null ? -Errno.EAFNOSUPPORT : with(id, found -> found.bind(to));
    }

    @Override
    public int resolveAddress(long id, @Nullable MemorySegment source, MemorySegment destination, int timeoutMillis) {
        Address from = source == null ? null : Address.read(source);
        Address to = Address.read(destination);
        if (to == null || source != null && from == null) {
            return -Errno.EAFNOSUPPORT;
        }
        return with(id, found -> found.resolveAddress(from, to));
    }

    @Override
    public int resolveRoute(long id, int timeoutMillis) {
        return with(id, Id::resolveRoute);
    }

    @Override
    public int listen(long id, int backlog) {
        return with(id, found -> found.listen(backlog));
    }

    @Override
    public int connect(long id, MemorySegment parameters) {
        Parameters given = Parameters.read(parameters);
        return with(id, found -> found.connect(given));
    }

    @Override
    public int accept(long id, MemorySegment parameters) {
        Parameters given = Parameters.read(parameters);
        return with(id, found -> found.session.accept(given));
    }

    @Override
    public int reject(long id, MemorySegment privateData) {
        return reject(id, Reject.CONSUMER, privateData);
    }

    @Override
    public int rejectEce(long id, MemorySegment privateData) {
        return reject(id, Reject.VENDOR_OPTION, privateData);
    }

    private int reject(long id, int reason, MemorySegment privateData) {
        byte[] data = privateData.toArray(ValueLayout.JAVA_BYTE);
        return with(id, found -> found.session.reject(reason, data));
    }

    @Override
    public int establish(long id) {
        return with(id, found -> found.session.establish());
    }

    @Override
    public int disconnect(long id) {
        return with(id, found -> found.session.disconnect());
    }

    @Override
    public int notify(long id, int event) {
        return with(id, found -> event == IbvEventType.IBV_EVENT_COMM_EST
                ? found.session.communicates() : -Errno.EINVAL);
    }

    @Override
    public int initQueuePairAttributes(long id, MemorySegment attributes, MemorySegment mask) {
        int to = attributes.get(ValueLayout.JAVA_INT_UNALIGNED, IbvQpAttr.QP_STATE);
        int result = with(id, found -> found.writeAttributes(attributes.address(), to));
        if (result >= 0) {
            mask.set(ValueLayout.JAVA_INT_UNALIGNED, 0, result);
        }
        return Math.min(0, result);
    }

    @Override
    public int writeEvent(long id, int status, long argument) {
        return with(id, found -> {
            found.raise(CmEvent.ofProgram(found, status, argument));
            return 0;
        });
    }

    @Override
    public int joinMulticast(long id, MemorySegment address, int joinFlags) {
        Address group = Address.read(address);
        return group == null ? -Errno.EINVAL : with(id, found -> found.join(group));
    }

    @Override
    public int leaveMulticast(long id, MemorySegment address) {
        Address group = Address.read(address);
        return group == null ? -Errno.EINVAL : with(id, found -> found.leave(group));
    }

    @Override
    public int setOption(long id, int level, int name, MemorySegment value) {
        return with(id, found -> level != RdmaOption.RDMA_OPTION_ID
                ? -Errno.EOPNOTSUPP : setOption(found, name, value));
    }

    private static int setOption(Id id, int name, MemorySegment value) {
        boolean isByte = name == RdmaOptionId.RDMA_OPTION_ID_TOS || name == RdmaOptionId.RDMA_OPTION_ID_ACK_TIMEOUT;
        if (value.byteSize() != (isByte ? 1 : Integer.BYTES)) {
            return -Errno.EINVAL;
        }
        int number = isByte ? Byte.toUnsignedInt(value.get(ValueLayout.JAVA_BYTE, 0))
                : value.get(ValueLayout.JAVA_INT_UNALIGNED, 0);
        return id.options.set(name, number, id);
    }

    @Override
    public int setLocalEce(long id, MemorySegment ece) {
        int vendor = ece.get(ValueLayout.JAVA_INT_UNALIGNED, IbvEce.VENDOR_ID);
        int options = ece.get(ValueLayout.JAVA_INT_UNALIGNED, IbvEce.OPTIONS);
        boolean fits = vendor >>> 24 == 0 && ece.get(ValueLayout.JAVA_INT_UNALIGNED, IbvEce.COMP_MASK) == 0;
        return with(id, found -> fits ? found.session.offer(new Message.Ece(vendor, options)) : -Errno.EINVAL);
    }

    @Override
    public int getRemoteEce(long id, MemorySegment ece) {
        return with(id, found -> {
            Message.Ece offered = found.session.offered();
            ece.set(ValueLayout.JAVA_INT_UNALIGNED, IbvEce.VENDOR_ID, offered.vendor());
            ece.set(ValueLayout.JAVA_INT_UNALIGNED, IbvEce.OPTIONS, offered.options());
            ece.set(ValueLayout.JAVA_INT_UNALIGNED, IbvEce.COMP_MASK, 0);
            return 0;
        });
    }

    @Override
    public long addressInfo(@Nullable MemorySegment node, @Nullable MemorySegment service,
            @Nullable MemorySegment hints) {
        return names.find(node, service, hints);
    }

    @Override
    public int resolveAddressInfo(
            long id, @Nullable MemorySegment node, @Nullable MemorySegment service, @Nullable MemorySegment hints) {
        long info = names.find(node, service, hints);
        if (info < 0) {
            return (int) info;
        }
        int result = with(id, found -> queries.add(found, info));
        if (result < 0) {
            names.free(info); // the id is gone, or has another look-up
        }
        return result;
    }

    @Override
    public long queryAddressInfo(long id) {
        return calls.make(() -> {
            Id found = host.ids.get(id);
            return found == null ? -Errno.EINVAL : queries.take(found);
        });
    }

    @Override
    public void freeAddressInfo(long info) {
        names.free(info);
    }
}
