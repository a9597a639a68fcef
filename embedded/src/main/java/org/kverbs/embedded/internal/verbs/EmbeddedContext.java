package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Set;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.Channel;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.objects.OpenXrcDomain;
import org.kverbs.embedded.internal.objects.Structures;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.transport.Qp;
import org.kverbs.embedded.internal.transport.WqTable;
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

    /** What a device of libibverbs can lack, and this one has. */
    private static final Set<String> OPTIONAL = Set.of(
            "ibv_modify_cq",
            "ibv_query_rt_values_ex",
            "ibv_alloc_td",
            "ibv_alloc_parent_domain",
            "ibv_query_port_speed",
            "ibv_modify_qp_rate_limit",
            "ibv_alloc_null_mr",
            "ibv_alloc_dm",
            "ibv_advise_mr",
            "ibv_import_pd",
            "ibv_create_comp_cntr",
            "ibv_post_srq_ops",
            "ibv_open_xrcd",
            "ibv_wr_atomic_write",
            "ibv_wr_flush");
    /** What the devices in this process have, and those on UDP sockets lack. */
    private static final Set<String> OF_FRAMES =
            Set.of(
                    "ibv_create_qp",
                    "ibv_create_flow",
                    "ibv_create_flow_action_esp",
                    "ibv_create_counters",
                    "ibv_create_wq");

    /** The length of an implicit region: SIZE_MAX (man 3 ibv_reg_mr). */
    private static final long WHOLE_ADDRESS_SPACE = -1;

    private final Hca hca;
    private final Queries queries;
    private final Structures structures = new Structures();
    private final Domains domains;
    private final AsyncEvents events;
    private final MemoryVerbs memory;
    private final EmbeddedOptionalMemory optionalMemory;
    private final AddressVerbs addresses;
    private final CompletionVerbs completions;
    private final SharedReceiveVerbs shared;
    private final QueuePairVerbs queuePairs;
    private final EmbeddedXrc xrc;
    private final SteeringVerbs steering;
    private final LockedSteering lockedSteering;
    private final EmbeddedFlowActions flowActions;
    private final EmbeddedWorkQueues workQueues;
    private final EmbeddedCompletionCounters completionCounters;
    private final EmbeddedImports imports;

    private EmbeddedContext(Hca hca, CommandFile file) {
        this.hca = hca;
        this.queries = new Queries(hca);
        this.domains = new Domains(hca, structures);
        this.events = new AsyncEvents(hca.engine);
        this.memory = new MemoryVerbs(hca, structures, domains);
        this.optionalMemory = new EmbeddedOptionalMemory(hca, structures, domains, memory);
        this.addresses = new AddressVerbs(hca, structures, domains);
        this.completions = new CompletionVerbs(hca, structures, domains, events);
        this.shared = new SharedReceiveVerbs(hca, structures, domains, events);
        Handles<OpenXrcDomain> xrcDomains = EmbeddedXrc.table(structures);
        Handles<WqTable> tables = EmbeddedWorkQueues.table(hca, structures);
        this.workQueues = new EmbeddedWorkQueues(hca, structures, events, domains, completions, tables);
        this.queuePairs = new QueuePairVerbs(
                hca, structures, events, domains, completions, shared, xrcDomains, tables, memory, addresses);
        this.xrc = new EmbeddedXrc(hca, completions, shared, queuePairs, xrcDomains);
        this.flowActions = new EmbeddedFlowActions(hca, structures);
        this.steering = new SteeringVerbs(hca, structures, queuePairs, flowActions);
        this.completionCounters = new EmbeddedCompletionCounters(hca, structures, queuePairs);
        this.lockedSteering = new LockedSteering(hca, steering);
        this.imports = new EmbeddedImports(
                hca, file, domains.table(), memory.regions(), optionalMemory.memories());
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
        hca.engine.enter();
        try {
            var context = new EmbeddedContext(hca, file);
            int result = hca.open(context.events);
            if (result < 0) {
                context.imports.close();
                context.structures.close();
                return VerbsOpenResult.refused(-result);
            }
            return VerbsOpenResult.of(context);
        } finally {
            hca.engine.leave();
        }
    }

    private int locked(IntSupplier action) {
        hca.engine.enter();
        try {
            return action.getAsInt();
        } finally {
            hca.engine.leave();
        }
    }

    /** Runs a call that a test can refuse. */
    private int locked(Operation operation, IntSupplier action) {
        return locked(() -> {
            int refusal = hca.refuse(operation);
            return refusal < 0 ? refusal : action.getAsInt();
        });
    }

    private long lockedLong(Operation operation, LongSupplier action) {
        return lockedLong(() -> {
            int refusal = hca.refuse(operation);
            return refusal < 0 ? refusal : action.getAsLong();
        });
    }

    private long lockedLong(LongSupplier action) {
        hca.engine.enter();
        try {
            return action.getAsLong();
        } finally {
            hca.engine.leave();
        }
    }

    private <T extends @Nullable Object> T find(Supplier<T> action) {
        hca.engine.enter();
        try {
            return action.get();
        } finally {
            hca.engine.leave();
        }
    }

    /** Finds an object of the data path, or throws if it was destroyed. */
    private <T> T require(Supplier<@Nullable T> action, long address, String what) {
        T found = find(action);
        if (found == null) {
            throw new IllegalArgumentException("there is no " + what + " at 0x" + Long.toHexString(address) + ": it"
                    + " was destroyed, or belongs to another context");
        }
        return found;
    }

    @Override
    public int completionVectors() {
        return Limits.VECTORS;
    }

    @Override
    public boolean has(String verb) {
        return OPTIONAL.contains(verb) || OF_FRAMES.contains(verb) && find(() -> hca.link.carriesFrames());
    }

    @Override
    public FlowVerbs flows() {
        return lockedSteering;
    }

    @Override
    public FlowActionVerbs flowActions() {
        return flowActions;
    }

    @Override
    public CounterVerbs flowCounters() {
        return lockedSteering;
    }

    @Override
    public WorkQueueVerbs workQueues() {
        return workQueues;
    }

    @Override
    public int close() {
        return locked(() -> {
            // As the kernel does: packets must not find objects that the program did not destroy.
            imports.close();
            steering.close();
            queuePairs.close();
            workQueues.close();
            shared.close();
            completions.close();
            xrc.close();
            memory.close();
            optionalMemory.close();
            hca.close(events);
            structures.close();
            return 0;
        });
    }

    @Override
    public CompletionCounterVerbs completionCounters() {
        return completionCounters;
    }

    @Override
    public ImportVerbs imports() {
        return imports;
    }

    @Override
    public ClockVerbs clock() {
        return new EmbeddedClock(hca);
    }

    @Override
    public DomainVerbs domains() {
        return new EmbeddedDomains(hca.engine, domains);
    }

    @Override
    public PacingVerbs pacing() {
        return new EmbeddedPacing(hca, queuePairs);
    }

    @Override
    public PortVerbs ports() {
        return new EmbeddedPorts(hca);
    }

    @Override
    public int queryDevice(MemorySegment to) {
        return locked(Operation.QUERY_DEVICE, () -> queries.device(to));
    }

    @Override
    public int queryDeviceEx(MemorySegment to) {
        return locked(Operation.QUERY_DEVICE, () -> queries.deviceEx(to));
    }

    @Override
    public int queryPort(int port, MemorySegment to) {
        return locked(Operation.QUERY_PORT, () -> queries.port(port, to));
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
        return lockedLong(Operation.ALLOCATE_PROTECTION_DOMAIN, domains::alloc);
    }

    @Override
    public int deallocPd(long pd) {
        return locked(() -> domains.dealloc(pd));
    }

    @Override
    public long registerMemory(long pd, long address, long length, long iova, int access) {
        if (address == 0 && length == WHOLE_ADDRESS_SPACE) {
            return lockedLong(Operation.REGISTER_MEMORY, () -> memory.registerImplicit(pd, access));
        }
        return registerMemory(pd, Memory.at(address, length), iova, access);
    }

    @Override
    public long registerMemory(long pd, MemorySegment range, long iova, int access) {
        return lockedLong(Operation.REGISTER_MEMORY, () -> memory.register(pd, range, iova, access));
    }

    @Override
    public int reregisterMemory(long mr, int flags, long pd, long address, long length, int access) {
        return reregisterMemory(mr, flags, pd, Memory.at(address, length), access);
    }

    @Override
    public int reregisterMemory(long mr, int flags, long pd, MemorySegment range, int access) {
        return locked(Operation.REREGISTER_MEMORY, () -> memory.reregister(mr, flags, pd, range, access));
    }

    @Override
    public int deregisterMemory(long mr) {
        return locked(Operation.DEREGISTER_MEMORY, () -> memory.deregister(mr));
    }

    @Override
    public long allocMemoryWindow(long pd, int type) {
        return lockedLong(Operation.ALLOCATE_MEMORY_WINDOW, () -> memory.allocWindow(pd, type));
    }

    @Override
    public int bindMemoryWindow(long qp, long mw, MemorySegment bind) {
        return locked(Operation.BIND_MEMORY_WINDOW, () -> queuePairs.bindWindow(qp, mw, bind.address()));
    }

    @Override
    public int deallocMemoryWindow(long mw) {
        return locked(() -> memory.deallocWindow(mw));
    }

    @Override
    public OptionalMemoryVerbs optionalMemory() {
        return optionalMemory;
    }

    @Override
    public long createCompletionChannel() {
        return lockedLong(Operation.CREATE_COMPLETION_CHANNEL, completions::createChannel);
    }

    @Override
    public int destroyCompletionChannel(long channel) {
        return locked(() -> completions.destroyChannel(channel));
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
        return find(() -> completions.channel(address));
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
        return lockedLong(Operation.CREATE_COMPLETION_QUEUE, () -> completions.create(entries, channel, vector));
    }

    @Override
    public long createCompletionQueueEx(MemorySegment init) {
        return lockedLong(Operation.CREATE_COMPLETION_QUEUE, () -> completions.createEx(init.address()));
    }

    @Override
    public int resizeCompletionQueue(long cq, int entries) {
        return locked(Operation.RESIZE_COMPLETION_QUEUE, () -> completions.resize(cq, entries));
    }

    @Override
    public int modifyCompletionQueue(long cq, MemorySegment attributes) {
        return locked(Operation.MODIFY_COMPLETION_QUEUE, () -> completions.modify(cq, attributes));
    }

    @Override
    public int destroyCompletionQueue(long cq) {
        return locked(Operation.DESTROY_COMPLETION_QUEUE, () -> completions.destroy(cq));
    }

    @Override
    public void ackCompletionEvents(long cq, int count) {
        // No code waits for acknowledgements: destroying an object removes its events.
    }

    @Override
    public CompletionQueueOps completionQueueOps(long cq) {
        return require(() -> completions.queue(cq), cq, "completion queue");
    }

    @Override
    public CompletionQueueOps extendedCompletionQueueOps(long cq, int fields) {
        return completionQueueOps(cq); // the ordinary polls already fill in every field
    }

    @Override
    public XrcVerbs xrc() {
        return xrc;
    }

    @Override
    public TagVerbs tags() {
        return new EmbeddedTags(hca, shared);
    }

    @Override
    public long createSharedReceiveQueue(long pd, MemorySegment init) {
        return lockedLong(Operation.CREATE_SHARED_RECEIVE_QUEUE, () -> shared.create(pd, init.address()));
    }

    @Override
    public int modifySharedReceiveQueue(long srq, MemorySegment given, int mask) {
        return locked(Operation.MODIFY_SHARED_RECEIVE_QUEUE, () -> shared.modify(srq, given.address(), mask));
    }

    @Override
    public int querySharedReceiveQueue(long srq, MemorySegment to) {
        return locked(() -> shared.query(srq, to.address()));
    }

    @Override
    public int destroySharedReceiveQueue(long srq) {
        return locked(Operation.DESTROY_SHARED_RECEIVE_QUEUE, () -> shared.destroy(srq));
    }

    @Override
    public ReceiveOps sharedReceiveQueueOps(long srq) {
        return require(() -> shared.queue(srq), srq, "shared receive queue");
    }

    @Override
    public long createQueuePair(long pd, MemorySegment init) {
        return lockedLong(Operation.CREATE_QUEUE_PAIR, () -> queuePairs.create(pd, init.address()));
    }

    @Override
    public long createQueuePairEx(MemorySegment init) {
        return lockedLong(Operation.CREATE_QUEUE_PAIR, () -> queuePairs.createEx(init.address()));
    }

    @Override
    public int modifyQueuePair(long qp, MemorySegment given, int mask) {
        return locked(Operation.MODIFY_QUEUE_PAIR, () -> queuePairs.modify(qp, given.address(), mask));
    }

    @Override
    public int queryQueuePair(long qp, MemorySegment to, int mask, MemorySegment init) {
        return locked(Operation.QUERY_QUEUE_PAIR, () -> queuePairs.query(qp, to.address(), init.address()));
    }

    @Override
    public int destroyQueuePair(long qp) {
        return locked(Operation.DESTROY_QUEUE_PAIR, () -> queuePairs.destroy(qp));
    }

    @Override
    public QueuePairOps queuePairOps(long qp) {
        return queuePair(qp);
    }

    @Override
    public QueuePairOps extendedQueuePairOps(long qp, int maxSendSge, int maxInlineData, int operations) {
        return queuePair(qp).whole();
    }

    private Qp queuePair(long qp) {
        return require(() -> queuePairs.queuePair(qp), qp, "queue pair");
    }

    @Override
    public Map<String, Long> queuePairCounters(long qp) {
        return find(() -> queuePairs.counters(qp));
    }

    @Override
    public int queryDataInOrder(long qp, int opcode) {
        return 0; // copies make no promise about the order of bytes
    }

    @Override
    public int attachMulticast(long qp, MemorySegment gid, int lid) {
        return locked(
                Operation.ATTACH_MULTICAST, () -> queuePairs.attachMulticast(qp, big(gid, 0), big(gid, Long.BYTES)));
    }

    @Override
    public int detachMulticast(long qp, MemorySegment gid, int lid) {
        return locked(() -> queuePairs.detachMulticast(qp, big(gid, 0), big(gid, Long.BYTES)));
    }

    private static long big(MemorySegment gid, long offset) {
        return gid.get(Queries.BIG_LONG, offset);
    }

    @Override
    public long createAddressHandle(long pd, MemorySegment given) {
        return lockedLong(Operation.CREATE_ADDRESS_HANDLE, () -> addresses.create(pd, given.address()));
    }

    @Override
    public int addressFromCompletion(int port, MemorySegment completion, MemorySegment grh, MemorySegment to) {
        return addresses.fromCompletion(port, completion, grh, to);
    }

    @Override
    public int destroyAddressHandle(long ah) {
        return locked(() -> addresses.destroy(ah));
    }

    @Override
    public int asyncEventFd() {
        return -1;
    }

    @Override
    public int awaitAsyncEvent(MemorySegment event, long timeoutNanos) {
        return events.await(event, timeoutNanos);
    }

    @Override
    public void ackAsyncEvent(MemorySegment event) {
        // No code waits for acknowledgements.
    }

    @Override
    public void wakeAsyncEvents() {
        events.wake();
    }
}
