package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvContext;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ClockVerbs;
import org.kverbs.spi.CompletionCounterVerbs;
import org.kverbs.spi.CompletionQueueOps;
import org.kverbs.spi.CounterVerbs;
import org.kverbs.spi.DomainVerbs;
import org.kverbs.spi.DriverVerbs;
import org.kverbs.spi.EceVerbs;
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
import org.kverbs.spi.WorkQueueVerbs;
import org.kverbs.spi.XrcVerbs;

/**
 * An open device of libibverbs. It calls exported functions where they exist and otherwise the pointer tables of the
 * context.
 */
final class NativeContext implements VerbsContext {

    private final Libibverbs verbs;
    private final long context;
    private final ContextTables tables;
    private final NativeOptionalMemory memory;
    private final NativeXrc xrc;
    /** True if posts and polls are made by critical calls, since the driver never enters the kernel in them. */
    private final boolean isShort;
    private final int asyncFd;
    private final WaitableFds channels = new WaitableFds();
    private final NativeQueries queries;
    private final NativeCompletions completions;
    private final NativeImports imports;
    private final NativeCompletionCounters completionCounters;
    private final FlowVerbs flows;
    private final CounterVerbs counters;
    private final WorkQueueVerbs workQueues;

    NativeContext(Libibverbs verbs, long context) {
        this.verbs = verbs;
        this.context = context;
        this.tables = new ContextTables(context);
        this.queries = new NativeQueries(this, verbs, context, tables);
        this.completions = new NativeCompletions(verbs, context, tables, channels);
        this.memory = new NativeOptionalMemory(verbs, context, tables);
        this.xrc = new NativeXrc(tables, context);
        this.imports = new NativeImports(verbs, context);
        this.completionCounters = new NativeCompletionCounters(verbs, context);
        this.flows = new NativeFlows(tables);
        this.counters = new NativeCounters(context, tables);
        this.isShort = staysInUserSpace();
        this.workQueues = new NativeWorkQueues(context, tables, isShort);
        this.asyncFd = Memory.at(context, IbvContext.SIZE).get(JAVA_INT, IbvContext.ASYNC_FD);
    }

    /**
     * Decides by the driver. The system property overrides it, for benchmarks and for a driver that the list has wrong.
     */
    private boolean staysInUserSpace() {
        String forced = System.getProperty("kverbs.shortPost");
        return forced != null
                ? Boolean.parseBoolean(forced)
                : UserSpaceDrivers.have(tables.function(IbvContext.OPS_POLL_CQ));
    }

    /** Prepares the waits for asynchronous events, so that they can be ended. Returns 0 or -errno. */
    int prepare() {
        return channels.add(context, asyncFd);
    }

    @Override
    public int completionVectors() {
        return Memory.at(context, IbvContext.SIZE).get(JAVA_INT, IbvContext.NUM_COMP_VECTORS);
    }

    @Override
    public long nativeAddress() {
        return context;
    }

    @Override
    public boolean has(String verb) {
        return switch (verb) {
            case "ibv_reg_dmabuf_mr" -> memory.hasDmabuf();
            case "ibv_query_port_speed" -> new NativePorts(verbs, context).tellSpeed();
            case "ibv_import_pd" -> imports.areThere();
            case "ibv_create_comp_cntr" -> completionCounters.areThere();
            default -> OptionalVerbs.areIn(verb, tables, verbs);
        };
    }

    @Override
    public FlowActionVerbs flowActions() {
        return new NativeFlowActions(context, tables);
    }

    @Override
    public FlowVerbs flows() {
        return flows;
    }

    @Override
    public DriverVerbs driver() {
        return new NativeDriverVerbs(verbs, tables, completions.extended, this::completionQueueOps);
    }

    @Override
    public CounterVerbs flowCounters() {
        return counters;
    }

    @Override
    public WorkQueueVerbs workQueues() {
        return workQueues;
    }

    @Override
    public int close() {
        return channels.remove(context, () -> verbs.closeDevice(context));
    }

    @Override
    public ClockVerbs clock() {
        return new NativeClock(context, tables);
    }

    @Override
    public DomainVerbs domains() {
        return new NativeDomains(context, tables);
    }

    @Override
    public EceVerbs ece() {
        return new NativeTuning(verbs, tables);
    }

    @Override
    public PacingVerbs pacing() {
        return new NativeTuning(verbs, tables);
    }

    @Override
    public PortVerbs ports() {
        return new NativePorts(verbs, context);
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
    public int queryDevice(MemorySegment attributes) {
        return verbs.queryDevice(context, attributes.address());
    }

    @Override
    public int queryDeviceEx(MemorySegment attributes) {
        return queries.deviceEx(attributes);
    }

    @Override
    public int queryPort(int port, MemorySegment attributes) {
        return queries.port(port, attributes);
    }

    @Override
    public int queryGid(int port, int index, MemorySegment gid) {
        return verbs.queryGid(context, port, index, gid.address());
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
        return queries.pkey(port, index);
    }

    @Override
    public int pkeyIndex(int port, int pkey) {
        return queries.pkeyIndex(port, pkey);
    }

    @Override
    public long allocPd() {
        return verbs.allocPd(context);
    }

    @Override
    public int deallocPd(long pd) {
        return verbs.deallocPd(pd);
    }

    @Override
    public long registerMemory(long pd, long address, long length, long iova, int access) {
        return verbs.regMr(pd, address, length, iova, access);
    }

    @Override
    public int reregisterMemory(long mr, int flags, long pd, long address, long length, int access) {
        return verbs.reregMr(mr, flags, pd, address, length, access);
    }

    @Override
    public int deregisterMemory(long mr) {
        return verbs.deregMr(mr);
    }

    @Override
    public long allocMemoryWindow(long pd, int type) {
        return tables.allocMw(pd, type);
    }

    @Override
    public int bindMemoryWindow(long qp, long mw, MemorySegment bind) {
        return tables.bindMw(qp, mw, bind);
    }

    @Override
    public int deallocMemoryWindow(long mw) {
        return tables.deallocMw(mw);
    }

    @Override
    public OptionalMemoryVerbs optionalMemory() {
        return memory;
    }

    @Override
    public long createCompletionChannel() {
        return completions.createChannel();
    }

    @Override
    public int destroyCompletionChannel(long channel) {
        return completions.destroyChannel(channel);
    }

    @Override
    public int completionChannelFd(long channel) {
        return NativeCompletions.fd(channel);
    }

    @Override
    public long awaitCompletionEvent(long channel, long timeoutNanos) {
        return completions.await(channel, timeoutNanos);
    }

    @Override
    public void interruptCompletionChannel(long channel) {
        channels.interrupt(channel);
    }

    @Override
    public void wakeCompletionChannel(long channel) {
        channels.wake(channel);
    }

    @Override
    public long createCompletionQueue(int entries, long channel, int vector) {
        return verbs.createCq(context, entries, channel, vector);
    }

    @Override
    public long createCompletionQueueEx(MemorySegment initAttributes) {
        return completions.createExtended(initAttributes);
    }

    @Override
    public int resizeCompletionQueue(long cq, int entries) {
        return verbs.resizeCq(cq, entries);
    }

    @Override
    public int modifyCompletionQueue(long cq, MemorySegment attributes) {
        return tables.modifyCq(cq, attributes);
    }

    @Override
    public int destroyCompletionQueue(long cq) {
        return completions.destroy(cq);
    }

    @Override
    public void ackCompletionEvents(long cq, int count) {
        verbs.ackCqEvents(cq, count);
    }

    @Override
    public CompletionQueueOps completionQueueOps(long cq) {
        return new NativeCompletionQueueOps(
                cq, tables.function(IbvContext.OPS_POLL_CQ), tables.function(IbvContext.OPS_REQ_NOTIFY_CQ), isShort);
    }

    @Override
    public CompletionQueueOps extendedCompletionQueueOps(long cq, int fields) {
        return new NativeExtendedCompletionQueueOps(cq, completionQueueOps(cq), fields);
    }

    @Override
    public XrcVerbs xrc() {
        return xrc;
    }

    @Override
    public TagVerbs tags() {
        return new NativeTags(tables); // each list keeps its own
    }

    @Override
    public long createSharedReceiveQueue(long pd, MemorySegment initAttributes) {
        return verbs.createSrq(pd, initAttributes.address());
    }

    @Override
    public int modifySharedReceiveQueue(long srq, MemorySegment attributes, int mask) {
        return verbs.modifySrq(srq, attributes.address(), mask);
    }

    @Override
    public int querySharedReceiveQueue(long srq, MemorySegment attributes) {
        return verbs.querySrq(srq, attributes.address());
    }

    @Override
    public int destroySharedReceiveQueue(long srq) {
        return verbs.destroySrq(srq);
    }

    @Override
    public ReceiveOps sharedReceiveQueueOps(long srq) {
        return new NativeReceiveOps(srq, tables.function(IbvContext.OPS_POST_SRQ_RECV), isShort);
    }

    @Override
    public long createQueuePair(long pd, MemorySegment initAttributes) {
        return verbs.createQp(pd, initAttributes.address());
    }

    @Override
    public long createQueuePairEx(MemorySegment initAttributes) {
        return tables.createQpEx(initAttributes);
    }

    @Override
    public int modifyQueuePair(long qp, MemorySegment attributes, int mask) {
        return verbs.modifyQp(qp, attributes.address(), mask);
    }

    @Override
    public int queryQueuePair(long qp, MemorySegment attributes, int mask, MemorySegment initAttributes) {
        return verbs.queryQp(qp, attributes.address(), mask, initAttributes.address());
    }

    @Override
    public int destroyQueuePair(long qp) {
        return verbs.destroyQp(qp);
    }

    @Override
    public QueuePairOps queuePairOps(long qp) {
        return new NativeQueuePairOps(
                qp,
                tables.function(IbvContext.OPS_POST_SEND),
                tables.function(IbvContext.OPS_POST_RECV),
                isShort && !completions.areExtendedFor(qp));
    }

    @Override
    public QueuePairOps extendedQueuePairOps(long qp, int maxSendSge, int maxInlineData, int operations) {
        return new NativeExtendedQueuePairOps(
                verbs.qpToQpEx(qp), maxSendSge, maxInlineData, operations, tables.function(IbvContext.OPS_POST_RECV));
    }

    @Override
    public int queryDataInOrder(long qp, int opcode) {
        return verbs.queryQpDataInOrder(qp, opcode) ? 1 : 0;
    }

    @Override
    public int attachMulticast(long qp, MemorySegment gid, int lid) {
        return verbs.attachMcast(qp, gid.address(), lid);
    }

    @Override
    public int detachMulticast(long qp, MemorySegment gid, int lid) {
        return verbs.detachMcast(qp, gid.address(), lid);
    }

    @Override
    public long createAddressHandle(long pd, MemorySegment attributes) {
        return verbs.createAh(pd, attributes.address());
    }

    @Override
    public int addressFromCompletion(int port, MemorySegment completion, MemorySegment grh, MemorySegment attributes) {
        return verbs.initAhFromWc(context, port, completion.address(), grh.address(), attributes.address());
    }

    @Override
    public int destroyAddressHandle(long ah) {
        return verbs.destroyAh(ah);
    }

    @Override
    public int asyncEventFd() {
        return asyncFd;
    }

    @Override
    public int awaitAsyncEvent(MemorySegment event, long timeoutNanos) {
        return channels.await(context, timeoutNanos, () -> verbs.getAsyncEvent(context, event.address()));
    }

    @Override
    public void ackAsyncEvent(MemorySegment event) {
        verbs.ackAsyncEvent(event.address());
    }

    @Override
    public void wakeAsyncEvents() {
        channels.wake(context);
    }
}
