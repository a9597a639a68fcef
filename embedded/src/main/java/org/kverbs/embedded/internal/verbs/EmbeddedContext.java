package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Channel;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.transport.Qp;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ClockVerbs;
import org.kverbs.spi.CompletionCounterVerbs;
import org.kverbs.spi.CompletionQueueOps;
import org.kverbs.spi.CounterVerbs;
import org.kverbs.spi.DomainVerbs;
import org.kverbs.spi.FlowActionVerbs;
import org.kverbs.spi.FlowVerbs;
import org.kverbs.spi.ImportVerbs;
import org.kverbs.spi.OptionalMemoryVerbs;
import org.kverbs.spi.PacingVerbs;
import org.kverbs.spi.PortVerbs;
import org.kverbs.spi.QueuePairOps;
import org.kverbs.spi.ReceiveOps;
import org.kverbs.spi.TagVerbs;
import org.kverbs.spi.VerbsContext;
import org.kverbs.spi.VerbsOpenResult;
import org.kverbs.spi.WorkQueueVerbs;
import org.kverbs.spi.XrcVerbs;

/**
 * Implements the C library's calls on an open embedded device. Each call takes the engine's lock and delegates to the
 * class of its kind of object.
 */
public final class EmbeddedContext implements VerbsContext {

    /** The length of an implicit region: SIZE_MAX (man 3 ibv_reg_mr). */
    private static final long WHOLE_ADDRESS_SPACE = -1;

    private final Hca hca;
    private final DeviceCalls calls;
    private final Queries queries;
    private final ContextObjects objects;

    private EmbeddedContext(Hca hca, ContextObjects objects) {
        this.hca = hca;
        this.calls = new DeviceCalls(hca);
        this.queries = new Queries(hca);
        this.objects = objects;
    }

    /** Opens a device, and its port if it is closed. */
    public static VerbsOpenResult open(Hca hca) {
        return open(hca, new CommandFile(hca));
    }

    /** Opens a device beside another context, which gave a duplicate of its descriptor. */
    public static VerbsOpenResult importContext(Hca hca, int duplicate) {
        CommandFile file = CommandFile.take(hca, duplicate);
        return file != null
                ? open(hca, file)
                : VerbsOpenResult.refused(-Refusal.because(Errno.EINVAL, duplicate + " is no duplicate of a descriptor"
                        + " of " + hca.name + " that can be imported, and each can be only once: take"
                        + " Context.duplicateDescriptor in this process, while the exporter is open."));
    }

    private static VerbsOpenResult open(Hca hca, CommandFile file) {
        return new DeviceCalls(hca).find(() -> {
            var objects = new ContextObjects(hca, file);
            int result = objects.open();
            return result < 0
                    ? VerbsOpenResult.refused(-result)
                    : VerbsOpenResult.of(new EmbeddedContext(hca, objects));
        });
    }

    @Override
    public int completionVectors() {
        return Limits.VECTORS;
    }

    @Override
    public boolean has(String verb) {
        return calls.find(() -> PresentVerbs.has(hca, verb));
    }

    @Override
    public FlowVerbs flows() {
        return objects.lockedSteering;
    }

    @Override
    public FlowActionVerbs flowActions() {
        return objects.flowActions;
    }

    @Override
    public CounterVerbs flowCounters() {
        return objects.lockedSteering;
    }

    @Override
    public WorkQueueVerbs workQueues() {
        return objects.workQueues;
    }

    @Override
    public int close() {
        return calls.call(objects::close);
    }

    @Override
    public CompletionCounterVerbs completionCounters() {
        return objects.completionCounters;
    }

    @Override
    public ImportVerbs imports() {
        return objects.imports;
    }

    @Override
    public ClockVerbs clock() {
        return new EmbeddedClock(hca, calls);
    }

    @Override
    public DomainVerbs domains() {
        return new EmbeddedDomains(calls, objects.domains);
    }

    @Override
    public PacingVerbs pacing() {
        return new EmbeddedPacing(calls, objects.queuePairs);
    }

    @Override
    public PortVerbs ports() {
        return new EmbeddedPorts(calls);
    }

    @Override
    public int queryDevice(MemorySegment to) {
        return calls.call(Operation.QUERY_DEVICE, () -> queries.device(to));
    }

    @Override
    public int queryDeviceEx(MemorySegment to) {
        return calls.call(Operation.QUERY_DEVICE, () -> queries.deviceEx(to));
    }

    @Override
    public int queryPort(int port, MemorySegment to) {
        return calls.call(Operation.QUERY_PORT, () -> queries.port(port, to));
    }

    @Override
    public int queryGid(int port, int index, MemorySegment gid) {
        return queries.gid(port, index, gid);
    }

    @Override
    public int queryGidEntry(int port, int index, MemorySegment entry) {
        return queries.gidEntry(port, index, entry);
    }

    @Override
    public int queryGidTable(MemorySegment entries) {
        return queries.gidTable(entries);
    }

    @Override
    public int queryPkey(int port, int index) {
        return port == Limits.PORT && index == 0 ? Hca.PKEY : -Errno.EINVAL;
    }

    @Override
    public int pkeyIndex(int port, int pkey) {
        return port == Limits.PORT && pkey == Hca.PKEY ? 0 : -Errno.ENOENT;
    }

    @Override
    public long allocPd() {
        return calls.make(Operation.ALLOCATE_PROTECTION_DOMAIN, objects.domains::alloc);
    }

    @Override
    public int deallocPd(long pd) {
        return calls.call(() -> objects.domains.dealloc(pd));
    }

    @Override
    public long registerMemory(long pd, long address, long length, long iova, int access) {
        if (address == 0 && length == WHOLE_ADDRESS_SPACE) {
            return calls.make(Operation.REGISTER_MEMORY, () -> objects.memory.registerImplicit(pd, access));
        }
        return registerMemory(pd, Memory.at(address, length), iova, access);
    }

    @Override
    public long registerMemory(long pd, MemorySegment range, long iova, int access) {
        return calls.make(Operation.REGISTER_MEMORY, () -> objects.memory.register(pd, range, iova, access));
    }

    @Override
    public int reregisterMemory(long mr, int flags, long pd, long address, long length, int access) {
        return reregisterMemory(mr, flags, pd, Memory.at(address, length), access);
    }

    @Override
    public int reregisterMemory(long mr, int flags, long pd, MemorySegment range, int access) {
        return calls.call(Operation.REREGISTER_MEMORY, () -> objects.memory.reregister(mr, flags, pd, range, access));
    }

    @Override
    public int deregisterMemory(long mr) {
        return calls.call(Operation.DEREGISTER_MEMORY, () -> objects.memory.deregister(mr));
    }

    @Override
    public long allocMemoryWindow(long pd, int type) {
        return calls.make(Operation.ALLOCATE_MEMORY_WINDOW, () -> objects.memory.allocWindow(pd, type));
    }

    @Override
    public int bindMemoryWindow(long qp, long mw, MemorySegment bind) {
        return calls.call(Operation.BIND_MEMORY_WINDOW, () -> objects.queuePairs.bindWindow(qp, mw, bind.address()));
    }

    @Override
    public int deallocMemoryWindow(long mw) {
        return calls.call(() -> objects.memory.deallocWindow(mw));
    }

    @Override
    public OptionalMemoryVerbs optionalMemory() {
        return objects.optionalMemory;
    }

    @Override
    public long createCompletionChannel() {
        return calls.make(Operation.CREATE_COMPLETION_CHANNEL, objects.completions::createChannel);
    }

    @Override
    public int destroyCompletionChannel(long channel) {
        return calls.call(() -> objects.completions.destroyChannel(channel));
    }

    @Override
    public int completionChannelFd(long channel) {
        return -1;
    }

    @Override
    public long awaitCompletionEvent(long channel, long timeoutNanos) {
        Channel<Cq> found = channel(channel);
        return found == null ? -Errno.EBADF : found.await(timeoutNanos, cq -> cq.address);
    }

    private @Nullable Channel<Cq> channel(long address) {
        return calls.find(() -> objects.completions.channel(address));
    }

    @Override
    public void interruptCompletionChannel(long channel) {
        Channel<Cq> found = channel(channel);
        if (found != null) {
            found.interrupt();
        }
    }

    @Override
    public void wakeCompletionChannel(long channel) {
        Channel<Cq> found = channel(channel);
        if (found != null) {
            found.wake();
        }
    }

    @Override
    public long createCompletionQueue(int entries, long channel, int vector) {
        return calls.make(
                Operation.CREATE_COMPLETION_QUEUE, () -> objects.completions.create(entries, channel, vector));
    }

    @Override
    public long createCompletionQueueEx(MemorySegment init) {
        return calls.make(Operation.CREATE_COMPLETION_QUEUE, () -> objects.completions.createEx(init.address()));
    }

    @Override
    public int resizeCompletionQueue(long cq, int entries) {
        return calls.call(Operation.RESIZE_COMPLETION_QUEUE, () -> objects.completions.resize(cq, entries));
    }

    @Override
    public int modifyCompletionQueue(long cq, MemorySegment attributes) {
        return calls.call(Operation.MODIFY_COMPLETION_QUEUE, () -> objects.completions.modify(cq, attributes));
    }

    @Override
    public int destroyCompletionQueue(long cq) {
        return calls.call(Operation.DESTROY_COMPLETION_QUEUE, () -> objects.completions.destroy(cq));
    }

    @Override
    public void ackCompletionEvents(long cq, int count) {
        // No code waits for acknowledgements: destroying an object removes its objects.events.
    }

    @Override
    public CompletionQueueOps completionQueueOps(long cq) {
        return calls.require(() -> objects.completions.queue(cq), cq, "completion queue");
    }

    @Override
    public CompletionQueueOps extendedCompletionQueueOps(long cq, int fields) {
        return completionQueueOps(cq); // the ordinary polls already fill in every field
    }

    @Override
    public XrcVerbs xrc() {
        return objects.xrc;
    }

    @Override
    public TagVerbs tags() {
        return new EmbeddedTags(hca, calls, objects.shared);
    }

    @Override
    public long createSharedReceiveQueue(long pd, MemorySegment init) {
        return calls.make(Operation.CREATE_SHARED_RECEIVE_QUEUE, () -> objects.shared.create(pd, init.address()));
    }

    @Override
    public int modifySharedReceiveQueue(long srq, MemorySegment given, int mask) {
        return calls.call(
                Operation.MODIFY_SHARED_RECEIVE_QUEUE, () -> objects.shared.modify(srq, given.address(), mask));
    }

    @Override
    public int querySharedReceiveQueue(long srq, MemorySegment to) {
        return calls.call(() -> objects.shared.query(srq, to.address()));
    }

    @Override
    public int destroySharedReceiveQueue(long srq) {
        return calls.call(Operation.DESTROY_SHARED_RECEIVE_QUEUE, () -> objects.shared.destroy(srq));
    }

    @Override
    public ReceiveOps sharedReceiveQueueOps(long srq) {
        return calls.require(() -> objects.shared.queue(srq), srq, "shared receive queue");
    }

    @Override
    public long createQueuePair(long pd, MemorySegment init) {
        return calls.make(Operation.CREATE_QUEUE_PAIR, () -> objects.queuePairs.create(pd, init.address()));
    }

    @Override
    public long createQueuePairEx(MemorySegment init) {
        return calls.make(Operation.CREATE_QUEUE_PAIR, () -> objects.queuePairs.createEx(init.address()));
    }

    @Override
    public int modifyQueuePair(long qp, MemorySegment given, int mask) {
        return calls.call(Operation.MODIFY_QUEUE_PAIR, () -> objects.queuePairs.modify(qp, given.address(), mask));
    }

    @Override
    public int queryQueuePair(long qp, MemorySegment to, int mask, MemorySegment init) {
        return calls.call(Operation.QUERY_QUEUE_PAIR, () -> objects.queuePairs.query(qp, to.address(), init.address()));
    }

    @Override
    public int destroyQueuePair(long qp) {
        return calls.call(Operation.DESTROY_QUEUE_PAIR, () -> objects.queuePairs.destroy(qp));
    }

    @Override
    public QueuePairOps queuePairOps(long qp) {
        return queuePair(qp).posts(false);
    }

    @Override
    public QueuePairOps extendedQueuePairOps(long qp, int maxSendSge, int maxInlineData, int operations) {
        return queuePair(qp).posts(true);
    }

    private Qp queuePair(long qp) {
        return calls.require(() -> objects.queuePairs.queuePair(qp), qp, "queue pair");
    }

    @Override
    public Map<String, Long> queuePairCounters(long qp) {
        return calls.find(() -> objects.queuePairs.counters(qp));
    }

    @Override
    public int queryDataInOrder(long qp, int opcode) {
        return 0; // copies make no promise about the order of bytes
    }

    @Override
    public int attachMulticast(long qp, MemorySegment gid, int lid) {
        return calls.call(
                Operation.ATTACH_MULTICAST,
                () -> objects.queuePairs.attachMulticast(qp, big(gid, 0), big(gid, Long.BYTES)));
    }

    @Override
    public int detachMulticast(long qp, MemorySegment gid, int lid) {
        return calls.call(() -> objects.queuePairs.detachMulticast(qp, big(gid, 0), big(gid, Long.BYTES)));
    }

    private static long big(MemorySegment gid, long offset) {
        return gid.get(Queries.BIG_LONG, offset);
    }

    @Override
    public long createAddressHandle(long pd, MemorySegment given) {
        return calls.make(Operation.CREATE_ADDRESS_HANDLE, () -> objects.addresses.create(pd, given.address()));
    }

    @Override
    public int addressFromCompletion(int port, MemorySegment completion, MemorySegment grh, MemorySegment to) {
        return objects.addresses.fromCompletion(port, completion, grh, to);
    }

    @Override
    public int destroyAddressHandle(long ah) {
        return calls.call(() -> objects.addresses.destroy(ah));
    }

    @Override
    public int asyncEventFd() {
        return -1;
    }

    @Override
    public int awaitAsyncEvent(MemorySegment event, long timeoutNanos) {
        return objects.events.await(event, timeoutNanos);
    }

    @Override
    public void ackAsyncEvent(MemorySegment event) {
        // No code waits for acknowledgements.
    }

    @Override
    public void wakeAsyncEvents() {
        objects.events.wake();
    }
}
