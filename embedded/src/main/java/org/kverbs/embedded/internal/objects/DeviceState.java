package org.kverbs.embedded.internal.objects;

import java.util.EnumSet;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.WorkCompletionOpcode;
import org.kverbs.embedded.BufferMisuse;
import org.kverbs.embedded.DeviceLimits;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.PostedBuffer;
import org.kverbs.embedded.Semantics;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.watch.Watch;
import org.kverbs.internal.PlacementExtensions;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAccessFlags;

/**
 * Holds what all objects of a device share: lock and clock, addresses, memory keys and port. Guarded by the engine's
 * lock.
 */
public abstract class DeviceState {

    /** The calls that a broken device still takes: its queue pairs are in the error state and flush. */
    private static final Set<Operation> OF_THE_DEAD = EnumSet.of(
            Operation.POLL,
            Operation.POST_SEND,
            Operation.POST_RECEIVE,
            Operation.REQUEST_NOTIFICATION,
            Operation.QUERY_QUEUE_PAIR,
            Operation.DEREGISTER_MEMORY,
            Operation.FREE_DEVICE_MEMORY,
            Operation.DESTROY_QUEUE_PAIR,
            Operation.DESTROY_COMPLETION_QUEUE,
            Operation.DESTROY_SHARED_RECEIVE_QUEUE,
            Operation.CLOSE_XRC_DOMAIN,
            Operation.DESTROY_FLOW,
            Operation.DESTROY_COUNTERS,
            Operation.DESTROY_WORK_QUEUE,
            Operation.DESTROY_INDIRECTION_TABLE,
            Operation.DESTROY_COMPLETION_COUNTER);

    public final String name;
    public final long guid;
    public final Engine engine;
    public final Gids gids;
    public final Random random;
    /** How strictly the device enforces the rules of hardware. */
    public final Semantics semantics;
    public final DeviceLimits limits;
    public final Quotas quotas;
    public final Keys keys;
    /** The pages of this process, for regions with on-demand paging. */
    public final AddressSpace addressSpace = new AddressSpace();
    /** The counts that belong to no queue pair, and those of destroyed queue pairs. */
    public final Counters counters = new Counters();
    public PacketPort link = UnpluggedPort.INSTANCE;
    /** The diagnostics, if they are on. */
    public @Nullable Watch watch;
    /** The failures that a test injected, if any. */
    @Nullable Failures failures;
    private Consumer<BufferMisuse> freed = misuse -> {};
    /** True if the device broke, so that it only takes calls of {@link #OF_THE_DEAD}. */
    private boolean dead;

    private final int mtu;

    /**
     * @param guid node GUID, host order
     * @param mtu bytes, an MTU of RDMA: 256 to 4096
     * @param random draws queue pair numbers, keys and so on
     */
    protected DeviceState(
            String name,
            long guid,
            Engine engine,
            Gids gids,
            int mtu,
            Random random,
            Semantics semantics,
            DeviceLimits limits) {
        this.name = name;
        this.guid = guid;
        this.engine = engine;
        this.gids = gids;
        this.mtu = mtu;
        this.random = random;
        this.semantics = semantics;
        this.limits = limits;
        this.quotas = new Quotas(name, limits);
        this.keys = new Keys(random, semantics);
    }

    /** Sets the carrier of the packets from now on; called with the lock held, or before the device is opened. */
    public void connect(PacketPort carrier) {
        this.link = carrier;
    }

    /**
     * Turns the diagnostics on for requests that are posted from now on; called with the lock held, or before the
     * device is opened.
     */
    public void watch(Watch diagnostics) {
        this.watch = diagnostics;
    }

    /**
     * Sets the listener for memory that the program freed while the device needed it; called before the device is
     * opened.
     */
    public void tellOfFreed(Consumer<BufferMisuse> listener) {
        this.freed = listener;
    }

    /** Reports that the device needed memory of a region that the program has freed. */
    public void tellFreed(long address, long bytes, int need, int queuePair) {
        WorkCompletionOpcode opcode = switch (need) {
            case 0 -> WorkCompletionOpcode.SEND;
            case IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE -> WorkCompletionOpcode.RDMA_WRITE;
            case IbvAccessFlags.IBV_ACCESS_REMOTE_READ -> WorkCompletionOpcode.RDMA_READ;
            case IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC -> WorkCompletionOpcode.FETCH_ADD;
            case PlacementExtensions.IBV_ACCESS_FLUSH_GLOBAL -> WorkCompletionOpcode.FLUSH;
            default -> WorkCompletionOpcode.RECV;
        };
        var buffer = new PostedBuffer(name, queuePair, 0, opcode, address, bytes, null);
        freed.accept(new BufferMisuse(BufferMisuse.Kind.MEMORY_FREED, buffer, 0, null));
    }

    /** Sets the failures that a test injects; called with the lock held, or before the device is opened. */
    public void fail(Failures asked) {
        this.failures = asked;
    }

    /** Tells whether neither diagnostics nor injected failures are on. */
    public boolean isUnobserved() {
        return watch == null && failures == null;
    }

    /** Marks the device as broken; called with the lock held. */
    protected void breakDown() {
        dead = true;
    }

    /** Returns -errno if the device is broken or a test refuses the call, or else 0; called with the lock held. */
    public int refuse(Operation operation) {
        if (dead && !OF_THE_DEAD.contains(operation)) {
            return Refusal.because(Errno.EIO, name + " broke with DEVICE_FATAL: close it.");
        }
        return failures == null ? 0 : failures.refuse(this, operation);
    }

    /**
     * Returns the status with which a test lets a work request fail, as {@link Cq#add} takes it, or 0 for success.
     * {@code opcode} is of {@code enum ibv_wc_opcode}.
     */
    public int injected(int opcode) {
        int status = failures == null ? 0 : failures.status(this, opcode);
        return status == 0 ? 0 : status | Refusal.INJECTED << Cq.VENDOR_ERROR;
    }

    /** Notes that a peer reads or writes memory of this side. */
    public void touched(long address, long bytes, boolean writes) {
        if (watch != null) {
            watch.touched(address, bytes, writes);
        }
    }

    public String name() {
        return name;
    }

    public long guid() {
        return guid;
    }

    public Gids gids() {
        return gids;
    }

    public Engine engine() {
        return engine;
    }

    public int mtu() {
        return mtu;
    }
}
