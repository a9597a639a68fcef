package org.kverbs.embedded.internal.device;

import java.lang.foreign.MemorySegment;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.wire.Grh;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvAh;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.abi.IbvAsyncEvent;
import org.kverbs.internal.abi.IbvCompChannel;
import org.kverbs.internal.abi.IbvCq;
import org.kverbs.internal.abi.IbvCqInitAttrEx;
import org.kverbs.internal.abi.IbvCqWcFlagSets;
import org.kverbs.internal.abi.IbvMr;
import org.kverbs.internal.abi.IbvMw;
import org.kverbs.internal.abi.IbvMwBind;
import org.kverbs.internal.abi.IbvMwType;
import org.kverbs.internal.abi.IbvPd;
import org.kverbs.internal.abi.IbvQp;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvQpInitAttrMask;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvReregMrFlags;
import org.kverbs.internal.abi.IbvSrq;
import org.kverbs.internal.abi.IbvSrqAttr;
import org.kverbs.internal.abi.IbvSrqAttrMask;
import org.kverbs.internal.abi.IbvSrqInitAttr;
import org.kverbs.internal.abi.IbvWc;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.ffm.Memory;
import org.kverbs.spi.CompletionQueueOps;
import org.kverbs.spi.QueuePairOps;
import org.kverbs.spi.ReceiveOps;
import org.kverbs.spi.VerbsContext;

/** An open embedded device: what the C library's calls do, on its C structures. */
public final class EmbeddedContext implements VerbsContext {

    private static final int REMOTE_WRITES = IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE | IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC;
    private static final int KNOWN_ACCESS = REMOTE_WRITES
            | IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE
            | IbvAccessFlags.IBV_ACCESS_REMOTE_READ
            | IbvAccessFlags.IBV_ACCESS_MW_BIND
            | IbvAccessFlags.IBV_ACCESS_ZERO_BASED
            | IbvAccessFlags.IBV_ACCESS_HUGETLB
            | IbvAccessFlags.IBV_ACCESS_RELAXED_ORDERING;

    /** Nothing is mapped below it, on any system: a null pointer plus an offset ends here. */
    private static final long LOWEST_ADDRESS = 1 << 16;

    private record Raised(int type, long element) {}

    final Hca hca;
    private final Queries queries;
    private final Structures structures = new Structures();
    private final Handles<Pd> domains = new Handles<>(structures, IbvPd.SIZE, IbvPd.HANDLE);
    private final Handles<Mr> regions = new Handles<>(structures, IbvMr.SIZE, IbvMr.HANDLE);
    private final Handles<Mw> windows = new Handles<>(structures, IbvMw.SIZE, IbvMw.HANDLE);
    /** A channel has no handle; its count of references is nobody's here. */
    private final Handles<Channel<Cq>> channels = new Handles<>(structures, IbvCompChannel.SIZE, IbvCompChannel.REFCNT);
    private final Handles<Cq> completionQueues = new Handles<>(structures, IbvCq.SIZE, IbvCq.HANDLE);
    private final Handles<Srq> sharedQueues = new Handles<>(structures, IbvSrq.SIZE, IbvSrq.HANDLE);
    private final Handles<QpAttributes> attributes = new Handles<>(structures, IbvQpAttr.SIZE + 8, IbvQpAttr.SIZE);
    private final Handles<Qp> queuePairs = new Handles<>(structures, IbvQp.SIZE, IbvQp.HANDLE);
    private final Handles<Ah> addressHandles = new Handles<>(structures, IbvAh.SIZE, IbvAh.HANDLE);
    private final Channel<Raised> events;

    EmbeddedContext(Hca hca) {
        this.hca = hca;
        this.queries = new Queries(hca);
        this.events = new Channel<>(hca.engine);
    }

    private int locked(IntSupplier action) {
        hca.engine.enter();
        try {
            return action.getAsInt();
        } finally {
            hca.engine.leave();
        }
    }

    private long lockedLong(LongSupplier action) {
        hca.engine.enter();
        try {
            return action.getAsLong();
        } finally {
            hca.engine.leave();
        }
    }

    /** Lets an asynchronous event wait for who asks; with the lock. {@code element} is an object's address or a port. */
    void raise(int type, long element) {
        events.add(new Raised(type, element));
    }

    @Nullable Ah addressHandle(long address) {
        return addressHandles.get(address);
    }

    @Nullable Mw window(long address) {
        return windows.get(address);
    }

    @Nullable Mr region(long address) {
        return regions.get(address);
    }

    @Override
    public int completionVectors() {
        return Limits.VECTORS;
    }

    @Override
    public int close() {
        return locked(() -> {
            // As the kernel does: what its user left must not be there for packets any more.
            queuePairs.forEach(qp -> {
                hca.multicast.forget(qp);
                qp.destroy();
            });
            sharedQueues.forEach(Srq::forget);
            regions.forEach(hca.keys::remove);
            windows.forEach(hca.keys::remove);
            hca.forget(this);
            structures.close();
            return 0;
        });
    }

    @Override
    public int queryDevice(MemorySegment to) {
        return queries.device(to);
    }

    @Override
    public int queryDeviceEx(MemorySegment to) {
        return queries.deviceEx(to);
    }

    @Override
    public int queryPort(int port, MemorySegment to) {
        return queries.port(port, to);
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
        return lockedLong(() -> domains.add(Limits.DOMAINS, Pd::new));
    }

    @Override
    public int deallocPd(long pd) {
        return locked(() -> {
            Pd domain = domains.get(pd);
            if (domain == null || domain.users > 0) {
                return domain == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            domains.remove(pd);
            return 0;
        });
    }

    @Override
    public long registerMemory(long pd, long address, long length, long iova, int access) {
        return lockedLong(() -> {
            Pd domain = domains.get(pd);
            if (domain == null || !isAccess(access)) {
                return -Errno.EINVAL;
            }
            if (address >= 0 && address < LOWEST_ADDRESS) {
                return -Errno.EFAULT; // what is not mapped above that only shows when it is used
            }
            long first = (access & IbvAccessFlags.IBV_ACCESS_ZERO_BASED) == 0 ? iova : 0;
            long structure = regions.add(Limits.REGIONS, at -> new Mr(domain, hca.keys.fresh(), at, address, length, first, access));
            if (structure > 0) {
                Mr region = regions.get(structure);
                hca.keys.add(region);
                domain.users++;
                Memory.putLong(structure + IbvMr.PD, pd);
                Memory.putLong(structure + IbvMr.ADDR, address);
                Memory.putLong(structure + IbvMr.LENGTH, length);
                Memory.putInt(structure + IbvMr.LKEY, region.key);
                Memory.putInt(structure + IbvMr.RKEY, region.key);
            }
            return structure;
        });
    }

    /** Who may be written by others must be allowed to write (man 3 ibv_reg_mr). */
    private static boolean isAccess(int access) {
        boolean writable = (access & IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE) != 0;
        return (access & ~KNOWN_ACCESS) == 0 && (writable || (access & REMOTE_WRITES) == 0);
    }

    @Override
    public int reregisterMemory(long mr, int flags, long pd, long address, long length, int access) {
        return locked(() -> {
            Mr region = regions.get(mr);
            boolean changesPd = (flags & IbvReregMrFlags.IBV_REREG_MR_CHANGE_PD) != 0;
            boolean changesAccess = (flags & IbvReregMrFlags.IBV_REREG_MR_CHANGE_ACCESS) != 0;
            Pd domain = changesPd ? domains.get(pd) : null;
            if (region == null
                    || (flags & ~IbvReregMrFlags.IBV_REREG_MR_FLAGS_SUPPORTED) != 0
                    || changesPd && domain == null
                    || changesAccess && !isAccess(access)) {
                return -Errno.EINVAL;
            }
            if (region.windows > 0) {
                return -Errno.EBUSY;
            }
            changed(region);
            if (domain != null) {
                region.pd.users--;
                domain.users++;
                region.pd = domain;
                Memory.putLong(mr + IbvMr.PD, pd);
            }
            if (changesAccess) {
                region.access = access;
            }
            if ((flags & IbvReregMrFlags.IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
                region.base = address;
                region.length = length;
                region.iova = (region.access & IbvAccessFlags.IBV_ACCESS_ZERO_BASED) == 0 ? address : 0;
                Memory.putLong(mr + IbvMr.ADDR, address);
                Memory.putLong(mr + IbvMr.LENGTH, length);
            }
            return 0;
        });
    }

    @Override
    public int deregisterMemory(long mr) {
        return locked(() -> {
            Mr region = regions.get(mr);
            if (region == null || region.windows > 0) {
                return region == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            changed(region);
            hca.keys.remove(region);
            region.pd.users--;
            regions.remove(mr);
            return 0;
        });
    }

    private void changed(Mr region) {
        if (hca.watch != null) {
            hca.watch.regionClosed(region);
        }
    }

    @Override
    public long allocMemoryWindow(long pd, int type) {
        return lockedLong(() -> {
            Pd domain = domains.get(pd);
            if (domain == null || type != IbvMwType.IBV_MW_TYPE_1 && type != IbvMwType.IBV_MW_TYPE_2) {
                return -Errno.EINVAL;
            }
            long structure = windows.add(Limits.REGIONS, at -> new Mw(domain, hca.keys.fresh(), at, type));
            if (structure > 0) {
                Mw window = windows.get(structure);
                hca.keys.add(window);
                domain.users++;
                Memory.putLong(structure + IbvMw.PD, pd);
                Memory.putInt(structure + IbvMw.RKEY, window.key);
                Memory.putInt(structure + IbvMw.TYPE, type);
            }
            return structure;
        });
    }

    @Override
    public int bindMemoryWindow(long qp, long mw, MemorySegment bind) {
        return locked(() -> {
            Qp by = queuePairs.get(qp);
            Mw window = windows.get(mw);
            long from = bind.address();
            long length = Memory.getLong(from + IbvMwBind.BIND_INFO_LENGTH);
            Mr region = regions.get(Memory.getLong(from + IbvMwBind.BIND_INFO_MR));
            if (by == null || window == null || window.type != IbvMwType.IBV_MW_TYPE_1 || by.type == IbvQpType.IBV_QPT_UD
                    || by.state < IbvQpState.IBV_QPS_RTS || region == null && length != 0) {
                return -Errno.EINVAL;
            }
            int result = by.sends.postBind(
                    Memory.getLong(from + IbvMwBind.WR_ID),
                    Memory.getInt(from + IbvMwBind.SEND_FLAGS),
                    window,
                    region,
                    Memory.getLong(from + IbvMwBind.BIND_INFO_ADDR),
                    length,
                    Memory.getInt(from + IbvMwBind.BIND_INFO_MW_ACCESS_FLAGS));
            if (result == 0) {
                // The key is the caller's before the binding is done, as with a card.
                Memory.putInt(mw + IbvMw.RKEY, window.key & ~0xff | window.key + 1 & 0xff);
                by.posted();
            }
            return result;
        });
    }

    @Override
    public int deallocMemoryWindow(long mw) {
        return locked(() -> {
            Mw window = windows.get(mw);
            if (window == null) {
                return -Errno.EINVAL;
            }
            window.unbind();
            hca.keys.remove(window);
            window.pd.users--;
            windows.remove(mw);
            return 0;
        });
    }

    @Override
    public long createCompletionChannel() {
        return lockedLong(() -> {
            long structure = channels.add(Integer.MAX_VALUE, at -> new Channel<>(hca.engine));
            Memory.putInt(structure + IbvCompChannel.FD, -1);
            return structure;
        });
    }

    @Override
    public int destroyCompletionChannel(long channel) {
        return locked(() -> {
            Channel<Cq> found = channels.get(channel);
            if (found == null || completionQueues.any(cq -> cq.channel == found)) {
                return found == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            channels.remove(channel);
            return 0;
        });
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
        hca.engine.enter();
        try {
            return channels.get(address);
        } finally {
            hca.engine.leave();
        }
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
        return lockedLong(() -> {
            Channel<Cq> events = channels.get(channel);
            if (entries < 1 || entries > Limits.COMPLETIONS || vector < 0 || vector >= Limits.VECTORS
                    || channel != 0 && events == null) {
                return -Errno.EINVAL;
            }
            long structure = completionQueues.add(Limits.COMPLETION_QUEUES, at -> new Cq(this, at, entries, events));
            if (structure > 0) {
                Memory.putLong(structure + IbvCq.CHANNEL, channel);
            }
            return structure;
        });
    }

    @Override
    public long createCompletionQueueEx(MemorySegment init) {
        long at = init.address();
        long fields = Memory.getLong(at + IbvCqInitAttrEx.WC_FLAGS);
        if ((fields & ~IbvCqWcFlagSets.IBV_WC_STANDARD_FLAGS) != 0 || Memory.getInt(at + IbvCqInitAttrEx.COMP_MASK) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        return createCompletionQueue(
                Memory.getInt(at + IbvCqInitAttrEx.CQE),
                Memory.getLong(at + IbvCqInitAttrEx.CHANNEL),
                Memory.getInt(at + IbvCqInitAttrEx.COMP_VECTOR));
    }

    @Override
    public int resizeCompletionQueue(long cq, int entries) {
        return locked(() -> {
            Cq found = completionQueues.get(cq);
            boolean refused = found == null || entries < 1 || entries > Limits.COMPLETIONS;
            return refused ? -Errno.EINVAL : found.resize(entries);
        });
    }

    @Override
    public int destroyCompletionQueue(long cq) {
        return locked(() -> {
            Cq found = completionQueues.get(cq);
            if (found == null || found.users > 0) {
                return found == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            if (found.channel != null) {
                found.channel.removeIf(each -> each == found);
            }
            forgetEvents(cq);
            completionQueues.remove(cq);
            return 0;
        });
    }

    /** Takes the events of an object out that is destroyed. */
    private void forgetEvents(long element) {
        events.removeIf(each -> each.element == element);
    }

    @Override
    public void ackCompletionEvents(long cq, int count) {
        // Nothing waits for it: what is destroyed takes its events with it.
    }

    @Override
    public CompletionQueueOps completionQueueOps(long cq) {
        return find(completionQueues, cq, "completion queue");
    }

    @Override
    public CompletionQueueOps extendedCompletionQueueOps(long cq) {
        return completionQueueOps(cq); // it gives every field at once
    }

    private <T> T find(Handles<T> handles, long address, String what) {
        hca.engine.enter();
        try {
            T found = handles.get(address);
            if (found == null) {
                throw new IllegalArgumentException("there is no " + what + " at 0x" + Long.toHexString(address));
            }
            return found;
        } finally {
            hca.engine.leave();
        }
    }

    @Override
    public long createSharedReceiveQueue(long pd, MemorySegment initAttributes) {
        return lockedLong(() -> {
            Pd domain = domains.get(pd);
            long at = initAttributes.address();
            int most = Memory.getInt(at + IbvSrqInitAttr.ATTR_MAX_WR);
            int entries = Memory.getInt(at + IbvSrqInitAttr.ATTR_MAX_SGE);
            int limit = Memory.getInt(at + IbvSrqInitAttr.ATTR_SRQ_LIMIT);
            if (domain == null || most < 1 || most > Limits.SHARED_RECEIVES || entries < 0 || entries > Limits.ENTRIES || limit > most) {
                return -Errno.EINVAL;
            }
            long structure = sharedQueues.add(
                    Limits.SHARED_QUEUES, it -> new Srq(this, it, domain, most, Math.max(1, entries)));
            if (structure > 0) {
                domain.users++;
                Memory.putLong(structure + IbvSrq.PD, pd);
                Memory.putInt(at + IbvSrqInitAttr.ATTR_MAX_SGE, Math.max(1, entries));
            }
            return structure;
        });
    }

    @Override
    public int modifySharedReceiveQueue(long srq, MemorySegment given, int mask) {
        return locked(() -> {
            Srq found = sharedQueues.get(srq);
            if (found == null || (mask & ~(IbvSrqAttrMask.IBV_SRQ_MAX_WR | IbvSrqAttrMask.IBV_SRQ_LIMIT)) != 0) {
                return -Errno.EINVAL;
            }
            int most = (mask & IbvSrqAttrMask.IBV_SRQ_MAX_WR) == 0
                    ? found.queue.capacity()
                    : Memory.getInt(given.address() + IbvSrqAttr.MAX_WR);
            int limit = (mask & IbvSrqAttrMask.IBV_SRQ_LIMIT) == 0
                    ? found.limit
                    : Memory.getInt(given.address() + IbvSrqAttr.SRQ_LIMIT);
            if (most < Math.max(1, found.queue.size()) || most > Limits.SHARED_RECEIVES || limit < 0 || limit > most) {
                return -Errno.EINVAL;
            }
            if (most != found.queue.capacity()) {
                found.queue = found.queue.resized(most);
            }
            found.limit = limit;
            return 0;
        });
    }

    @Override
    public int querySharedReceiveQueue(long srq, MemorySegment to) {
        return locked(() -> {
            Srq found = sharedQueues.get(srq);
            if (found == null) {
                return -Errno.EINVAL;
            }
            Memory.putInt(to.address() + IbvSrqAttr.MAX_WR, found.queue.capacity());
            Memory.putInt(to.address() + IbvSrqAttr.MAX_SGE, found.queue.maxEntries());
            Memory.putInt(to.address() + IbvSrqAttr.SRQ_LIMIT, found.limit);
            return 0;
        });
    }

    @Override
    public int destroySharedReceiveQueue(long srq) {
        return locked(() -> {
            Srq found = sharedQueues.get(srq);
            if (found == null || found.users > 0) {
                return found == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            found.forget();
            found.pd.users--;
            forgetEvents(srq);
            sharedQueues.remove(srq);
            return 0;
        });
    }

    @Override
    public ReceiveOps sharedReceiveQueueOps(long srq) {
        return find(sharedQueues, srq, "shared receive queue");
    }

    @Override
    public long createQueuePair(long pd, MemorySegment initAttributes) {
        return lockedLong(() -> {
            QpInit init = QpInit.read(
                    initAttributes.address(), domains.get(pd), completionQueues::get, sharedQueues::get);
            if (init == null) {
                return -Errno.EINVAL;
            }
            int number = hca.freshQueuePairNumber();
            long structure = queuePairs.add(Limits.QUEUE_PAIRS, at -> new Qp(this, at, number, init));
            if (structure > 0) {
                Qp qp = queuePairs.get(structure);
                hca.queuePairs.put(number, qp);
                init.countUsers(1);
                Memory.putLong(structure + IbvQp.PD, pd);
                Memory.putLong(structure + IbvQp.SEND_CQ, init.sendCq().address);
                Memory.putLong(structure + IbvQp.RECV_CQ, init.recvCq().address);
                Memory.putInt(structure + IbvQp.QP_NUM, number);
                Memory.putInt(structure + IbvQp.QP_TYPE, init.type());
                qp.keep(attributes.add(Integer.MAX_VALUE, at -> new QpAttributes(qp, at)));
                attributes(qp).writeCapabilities(initAttributes.address() + IbvQpInitAttr.CAP);
            }
            return structure;
        });
    }

    @Override
    public long createQueuePairEx(MemorySegment initAttributes) {
        long at = initAttributes.address();
        int known = IbvQpInitAttrMask.IBV_QP_INIT_ATTR_PD | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        int mask = Memory.getInt(at + IbvQpInitAttrEx.COMP_MASK);
        long operations = Memory.getLong(at + IbvQpInitAttrEx.SEND_OPS_FLAGS);
        if ((mask & ~known) != 0 || (operations & ~SendQueue.operations(Memory.getInt(at + IbvQpInitAttrEx.QP_TYPE))) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        return createQueuePair(Memory.getLong(at + IbvQpInitAttrEx.PD), initAttributes); // whose beginning is the same
    }

    private QpAttributes attributes(Qp qp) {
        return attributes.get(qp.kept());
    }

    @Override
    public int modifyQueuePair(long qp, MemorySegment given, int mask) {
        return locked(() -> {
            Qp found = queuePairs.get(qp);
            return found == null ? -Errno.EINVAL : attributes(found).modify(given.address(), mask);
        });
    }

    @Override
    public int queryQueuePair(long qp, MemorySegment to, int mask, MemorySegment initAttributes) {
        return locked(() -> {
            Qp found = queuePairs.get(qp);
            return found == null ? -Errno.EINVAL : attributes(found).query(to.address(), initAttributes.address());
        });
    }

    @Override
    public int destroyQueuePair(long qp) {
        return locked(() -> {
            Qp found = queuePairs.get(qp);
            if (found == null || hca.multicast.contains(found)) {
                return found == null ? -Errno.EINVAL : -Errno.EBUSY;
            }
            found.destroy();
            attributes.remove(found.kept());
            forgetEvents(qp);
            queuePairs.remove(qp);
            return 0;
        });
    }

    @Override
    public QueuePairOps queuePairOps(long qp) {
        return find(queuePairs, qp, "queue pair");
    }

    @Override
    public QueuePairOps extendedQueuePairOps(long qp, int maxSendSge, int maxInlineData) {
        return find(queuePairs, qp, "queue pair").whole();
    }

    /** Bytes are copied by whatever does it fastest. */
    @Override
    public int queryDataInOrder(long qp, int opcode) {
        return 0;
    }

    @Override
    public int attachMulticast(long qp, MemorySegment gid, int lid) {
        return locked(() -> {
            Qp found = queuePairs.get(qp);
            return found == null ? -Errno.EINVAL : hca.multicast.attach(found, big(gid, 0), big(gid, Long.BYTES));
        });
    }

    @Override
    public int detachMulticast(long qp, MemorySegment gid, int lid) {
        return locked(() -> {
            Qp found = queuePairs.get(qp);
            return found == null ? -Errno.EINVAL : hca.multicast.detach(found, big(gid, 0), big(gid, Long.BYTES));
        });
    }

    private static long big(MemorySegment gid, long offset) {
        return gid.get(Queries.BIG_LONG, offset);
    }

    @Override
    public long createAddressHandle(long pd, MemorySegment given) {
        return lockedLong(() -> {
            Pd domain = domains.get(pd);
            int result = domain == null ? -Errno.EINVAL : QpAttributes.checkAddress(given.address(), hca);
            if (domain == null || result < 0) {
                return result;
            }
            long structure = addressHandles.add(Limits.REGIONS, at -> new Ah(at, domain));
            if (structure > 0) {
                addressHandles.get(structure).route.read(given.address());
                domain.users++;
                Memory.putLong(structure + IbvAh.PD, pd);
            }
            return structure;
        });
    }

    @Override
    public int addressFromCompletion(int port, MemorySegment completion, MemorySegment grh, MemorySegment to) {
        boolean hasGrh = (Memory.getInt(completion.address() + IbvWc.WC_FLAGS) & IbvWcFlags.IBV_WC_GRH) != 0;
        var from = new Packet(0);
        if (!hasGrh || !Grh.read(from, grh.address())) {
            return -Errno.EINVAL;
        }
        int index = hca.gids.indexOf(from.destinationGidHigh, from.destinationGidLow);
        if (index < 0) {
            return -Errno.ENOENT;
        }
        to.asSlice(0, IbvAhAttr.SIZE).fill((byte) 0);
        to.set(Queries.BIG_LONG, IbvAhAttr.GRH_DGID_GLOBAL_SUBNET_PREFIX, from.sourceGidHigh);
        to.set(Queries.BIG_LONG, IbvAhAttr.GRH_DGID_GLOBAL_INTERFACE_ID, from.sourceGidLow);
        Memory.putInt(to.address() + IbvAhAttr.GRH_FLOW_LABEL, from.flowLabel);
        Memory.putByte(to.address() + IbvAhAttr.GRH_SGID_INDEX, (byte) index);
        Memory.putByte(to.address() + IbvAhAttr.GRH_HOP_LIMIT, (byte) 255);
        Memory.putByte(to.address() + IbvAhAttr.GRH_TRAFFIC_CLASS, (byte) from.trafficClass);
        Memory.putByte(to.address() + IbvAhAttr.IS_GLOBAL, (byte) 1);
        Memory.putByte(to.address() + IbvAhAttr.PORT_NUM, (byte) port);
        return 0;
    }

    @Override
    public int destroyAddressHandle(long ah) {
        return locked(() -> {
            Ah found = addressHandles.get(ah);
            if (found == null) {
                return -Errno.EINVAL;
            }
            found.pd.users--;
            addressHandles.remove(ah);
            return 0;
        });
    }

    @Override
    public int asyncEventFd() {
        return -1;
    }

    @Override
    public int awaitAsyncEvent(MemorySegment event, long timeoutNanos) {
        return (int) events.await(timeoutNanos, raised -> {
            Memory.putLong(event.address() + IbvAsyncEvent.ELEMENT, raised.element);
            Memory.putInt(event.address() + IbvAsyncEvent.EVENT_TYPE, raised.type);
            return 1;
        });
    }

    @Override
    public void ackAsyncEvent(MemorySegment event) {
        // Nothing waits for it.
    }

    @Override
    public void wakeAsyncEvents() {
        events.wake();
    }
}
