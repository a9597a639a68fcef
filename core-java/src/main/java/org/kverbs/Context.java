package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.AddressAttributes;
import org.kverbs.attributes.CompletionCounterCapabilities;
import org.kverbs.attributes.DeviceAttributes;
import org.kverbs.attributes.DeviceAttributesEx;
import org.kverbs.attributes.EthernetAddress;
import org.kverbs.attributes.EspAttributes;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.Gid;
import org.kverbs.attributes.GidEntry;
import org.kverbs.attributes.GidType;
import org.kverbs.attributes.PortAttributes;
import org.kverbs.internal.CompletionCounterLayout;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvDeviceAttr;
import org.kverbs.internal.abi.IbvDeviceAttrEx;
import org.kverbs.internal.abi.IbvPortAttr;
import org.kverbs.spi.DriverLibrary;
import org.kverbs.spi.DriverObjects;
import org.kverbs.spi.VerbsContext;

/**
 * An open device ({@code struct ibv_context}). It answers queries, and every object of the device is made from it.
 *
 * <p>Safe for any thread. Closing the context closes every object that was made from it; see {@link Resource}.
 */
public final class Context extends Resource {

    /** The size of struct ibv_port_attr in rdma-core 65. An older library fills less and leaves zeros. */
    private static final int PORT_ATTRIBUTES_SIZE = Math.max(56, IbvPortAttr.SIZE);

    private final Device device;
    final VerbsContext verbs;
    final AsyncEventSources events = new AsyncEventSources();
    /** What the device said of its limits. */
    final KnownLimits limits;
    /** The answers of {@link #supports}. */
    private final Map<Feature, Boolean> supported = new ConcurrentHashMap<>();

    Context(Device device, VerbsContext verbs) {
        super(new Lifetime(Turn.USERS));
        this.device = device;
        this.verbs = verbs;
        this.limits = new KnownLimits(verbs);
        lifetime.begin(this, Ending.of(this::describe, this::destroy).waking(this::wake));
        lifetime.register();
    }

    /** Returns the device that was opened. */
    public Device device() {
        return device;
    }

    /**
     * Returns whether the device, its driver and the installed library have a feature. With a device of libibverbs it
     * looks at the functions of the driver and at the attributes of the device. The kernel can still refuse a call that
     * the driver knows, and an older driver an operation that the device has. The first call for a feature asks the
     * device; the answer does not change.
     */
    public boolean supports(Feature feature) {
        lifetime.enter();
        try {
            Boolean answer = supported.get(feature);
            if (answer == null) {
                answer = ContextQueries.supports(this, feature);
                supported.put(feature, answer);
            }
            return answer;
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Makes the exception for a refused call of a feature: an {@link UnsupportedVerbException} if the device does not
     * have the feature.
     */
    RdmaSystemException refusal(Feature feature, String operation, int errno) {
        boolean isKnown = SystemErrors.isMissing(errno) || ContextQueries.offers(this, feature, errno);
        return SystemErrors.optional(device.name(), operation, isKnown ? errno : Errno.EOPNOTSUPP, feature.needs());
    }

    /** Returns the number of completion vectors, for {@link CompletionQueueAttributes} ({@code num_comp_vectors}). */
    public int completionVectors() {
        return command("completion vectors", verbs::completionVectors);
    }

    /** Queries the limits and the identity of the device ({@code ibv_query_device}). */
    public DeviceAttributes queryDevice() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvDeviceAttr.SIZE, JAVA_LONG.byteAlignment());
            command("ibv_query_device(" + device.name() + ")", () -> verbs.queryDevice(attributes));
            return limits.note(Structures.DEVICE.read(attributes));
        }
    }

    /**
     * Queries the extended attributes of the device ({@code ibv_query_device_ex}). A value that the library or the
     * device does not know is zero.
     */
    public DeviceAttributesEx queryDeviceEx() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvDeviceAttrEx.SIZE, JAVA_LONG.byteAlignment());
            command("ibv_query_device_ex(" + device.name() + ")", () -> verbs.queryDeviceEx(attributes));
            return Structures.DEVICE_EX.read(attributes);
        }
    }

    /**
     * Reads the clock of the device ({@code ibv_query_rt_values_ex}), which also gives the timestamps of completions.
     *
     * @return ticks, unsigned; {@code DeviceAttributesEx.hcaCoreClock} is their frequency in kHz
     * @throws UnsupportedVerbException if the device cannot be asked for its clock
     */
    public long queryClock() {
        return ContextQueries.clock(this);
    }

    /**
     * Queries the state and the limits of a port ({@code ibv_query_port}).
     *
     * @param port the number of the port, from 1
     */
    public PortAttributes queryPort(int port) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(PORT_ATTRIBUTES_SIZE, JAVA_LONG.byteAlignment());
            command(
                    "ibv_query_port(" + device.name() + ", port=" + port + ")",
                    () -> verbs.queryPort(port, attributes));
            return Structures.PORT.read(attributes);
        }
    }

    /**
     * Queries the effective speed of a port ({@code ibv_query_port_speed}).
     *
     * @return megabits a second, in steps of 100
     * @throws UnsupportedVerbException if the device or the library does not tell it; {@link PortAttributes} has the
     *     width and the speed of a lane
     */
    public long queryPortSpeed(int port) {
        return ContextQueries.speed(this, port);
    }

    /**
     * Finds the Ethernet address and the VLAN of a destination on RoCE ({@code ibv_resolve_eth_l2_from_gid}). The
     * kernel's tables of neighbours give it; the call can wait for the answer of a neighbour for a few seconds. The
     * embedded device has no Ethernet addresses.
     *
     * @param address a destination with a global route
     * @throws RdmaSystemException if no neighbour has the address, or the device has no Ethernet addresses
     */
    public EthernetAddress resolveEthernet(AddressAttributes address) {
        return ContextQueries.resolveEthernet(this, address);
    }

    /** Queries the GID at an index of a port's table ({@code ibv_query_gid}). The GID of an empty entry is all zero. */
    public Gid queryGid(int port, int index) {
        return GidQueries.gid(this, port, index);
    }

    /**
     * Queries the GID at an index with its type and its network interface ({@code ibv_query_gid_ex}).
     *
     * @throws RdmaSystemException ENODATA if the entry is empty
     */
    public GidEntry queryGidEntry(int port, int index) {
        return GidQueries.entry(this, port, index);
    }

    /** Queries whether the GID at an index is for InfiniBand, RoCE v1 or RoCE v2 ({@code ibv_query_gid_ex}). */
    public GidType queryGidType(int port, int index) {
        return queryGidEntry(port, index).type();
    }

    /** Queries all valid GIDs of all ports ({@code ibv_query_gid_table}). */
    public List<GidEntry> queryGidTable() {
        return GidQueries.table(this);
    }

    /**
     * Queries all valid GIDs of all ports into a table of a given size ({@code ibv_query_gid_table}).
     *
     * @param maximum the number of entries that the table has room for
     * @throws RdmaSystemException EINVAL if the ports have more valid GIDs
     */
    public List<GidEntry> queryGidTable(int maximum) {
        return GidQueries.table(this, maximum);
    }

    /**
     * Returns the index of the GID that is used if the caller names none. On Ethernet it is the first RoCE v2 entry
     * with an IPv4 address, else the first RoCE v2 entry, else 0. On InfiniBand it is 0.
     */
    public int defaultGidIndex(int port) {
        return GidQueries.defaultIndex(this, port);
    }

    /** Queries the P_Key at an index of a port's table, 16 bits in host order ({@code ibv_query_pkey}). */
    public int queryPkey(int port, int index) {
        return command(GidQueries.call(this, "ibv_query_pkey", port, index), () -> verbs.queryPkey(port, index));
    }

    /**
     * Finds the index of a P_Key in a port's table ({@code ibv_get_pkey_index}).
     *
     * @param pkey the key, 16 bits in host order with the membership bit; 0xffff is the default key
     */
    public int pkeyIndex(int port, int pkey) {
        return command(
                "ibv_get_pkey_index(%s, port=%d, pkey=0x%04x)".formatted(device.name(), port, pkey),
                () -> verbs.pkeyIndex(port, pkey));
    }

    /** Makes a protection domain ({@code ibv_alloc_pd}). */
    public ProtectionDomain protectionDomain() {
        return create("ibv_alloc_pd(" + device.name() + ")", verbs::allocPd, h -> new ProtectionDomain(this, h), this);
    }

    /** Makes an XRC domain that nobody else can open; see {@link #xrcDomain(XrcDomainAttributes)}. */
    public XrcDomain xrcDomain() {
        return xrcDomain(XrcDomainAttributes.UNSHARED);
    }

    /**
     * Opens an XRC domain ({@code ibv_open_xrcd}).
     *
     * @throws UnsupportedVerbException if the device has no XRC
     * @throws RdmaSystemException EAGAIN if the domain does not exist and is not to be made; EINVAL if it exists and
     *     must be a new one; ENOENT, EACCES and the like for the file
     */
    public XrcDomain xrcDomain(XrcDomainAttributes attributes) {
        String operation = "ibv_open_xrcd(" + device.name() + ", " + attributes + ")";
        return create(
                errno -> refusal(Feature.XRC, operation, errno),
                () -> verbs.xrc().openDomain(attributes.file(), attributes.flags()),
                h -> new XrcDomain(this, attributes.file(), h),
                this);
    }

    /**
     * Makes an action of flow rules that decrypts or encrypts packets of IPsec ({@code ibv_create_flow_action_esp}).
     *
     * @throws UnsupportedVerbException if the device does not have {@link Feature#ESP_FLOW_ACTION}
     * @throws RdmaSystemException if the device refuses the parameters: EOPNOTSUPP if it has actions, but not this one
     */
    public EspFlowAction espFlowAction(EspAttributes attributes) {
        return EspFlowAction.make(this, attributes);
    }

    /**
     * Makes a thread domain ({@code ibv_alloc_td}), whose objects one thread at a time uses.
     *
     * @throws UnsupportedVerbException if the device has no thread domains
     */
    public ThreadDomain threadDomain() {
        return ThreadDomain.make(this);
    }

    /**
     * Allocates memory of the device ({@code ibv_alloc_dm}). Its first byte is a multiple of 64, which suits atomics.
     *
     * @param length the number of bytes
     * @throws UnsupportedVerbException if the device does not have {@code Feature.DEVICE_MEMORY}
     * @throws RdmaSystemException ENOMEM or another errno if the device has no such amount left:
     *     {@code DeviceAttributesEx.maxDmSize}
     */
    public DeviceMemory deviceMemory(long length) {
        return deviceMemory(length, 64);
    }

    /**
     * Allocates memory of the device; see {@link #deviceMemory(long)}.
     *
     * @param alignment the alignment of the first byte, in bytes: a power of 2
     */
    public DeviceMemory deviceMemory(long length, int alignment) {
        return DeviceMemory.allocate(this, length, alignment);
    }

    /**
     * Returns the descriptor by which another process gets at the kernel's side of this context ({@code cmd_fd}). Send
     * it over a UNIX socket (SCM_RIGHTS), which duplicates it, together with the numbers of the objects to share, such
     * as {@link ProtectionDomain#kernelHandle}. The context owns the descriptor: do not close it. Within this process,
     * {@link #duplicateDescriptor} gives one to import.
     *
     * <p>The number of an embedded device is no descriptor of the operating system, and means nothing in another
     * process.
     *
     * @throws UnsupportedVerbException if the device has no such descriptor
     */
    public int commandDescriptor() {
        String operation = "cmd_fd(" + device.name() + ")";
        return command(errno -> refusal(Feature.IMPORT, operation, errno), () -> verbs.imports().commandDescriptor());
    }

    /**
     * Duplicates the {@link #commandDescriptor} for {@link Device#importContext} in this process. The caller owns the
     * duplicate until it is imported.
     *
     * @throws UnsupportedVerbException if the device has no such descriptor
     * @throws RdmaSystemException EMFILE if the process has too many open files
     */
    public int duplicateDescriptor() {
        String operation = "dup(cmd_fd of " + device.name() + ")";
        String missing = Feature.IMPORT.verb() + "(" + device.name() + ")";
        return command(
                errno -> refusal(Feature.IMPORT, SystemErrors.isMissing(errno) ? missing : operation, errno),
                () -> verbs.imports().duplicateDescriptor());
    }

    /**
     * Imports a protection domain of the context that this one was imported from ({@code ibv_import_pd}). The domain
     * stays the exporter's: closing this object frees only the import ({@code ibv_unimport_pd}). The exporter closes
     * the domain after the last use here; while objects of other contexts are in it, its close fails with EBUSY.
     *
     * @param kernelHandle {@link ProtectionDomain#kernelHandle} of the exporter's domain
     * @throws UnsupportedVerbException if the device does not have {@link Feature#IMPORT}
     * @throws RdmaSystemException ENOENT, EINVAL or another errno if there is no such domain
     */
    public ProtectionDomain importProtectionDomain(int kernelHandle) {
        return Imports.domain(this, kernelHandle);
    }

    /**
     * Imports device memory of the context that this one was imported from ({@code ibv_import_dm}). The memory stays
     * the exporter's, as with {@link #importProtectionDomain}.
     *
     * @param kernelHandle {@link DeviceMemory#kernelHandle} of the exporter's memory
     * @param length the exporter's {@link DeviceMemory#length}, which the device does not tell
     * @throws UnsupportedVerbException if the device does not have {@link Feature#IMPORT}, or the installed rdma-core
     *     is older than 35
     * @throws RdmaSystemException ENOENT, EINVAL or another errno if there is no such memory
     */
    public DeviceMemory importDeviceMemory(int kernelHandle, long length) {
        return Imports.deviceMemory(this, kernelHandle, length);
    }

    /**
     * Makes a completion channel ({@code ibv_create_comp_channel}). Completion queues announce their completions on it.
     */
    public CompletionChannel completionChannel() {
        return create(
                "ibv_create_comp_channel(" + device.name() + ")",
                verbs::createCompletionChannel,
                h -> new CompletionChannel(this, h),
                this);
    }

    /** Makes a completion queue for at least {@code entries} completions, without a channel ({@code ibv_create_cq}). */
    public CompletionQueue completionQueue(int entries) {
        return completionQueue(CompletionQueueAttributes.of(entries));
    }

    /**
     * Makes a completion queue ({@code ibv_create_cq}, {@code ibv_create_cq_ex}).
     *
     * @throws IllegalArgumentException if the channel or the parent domain belongs to another context
     * @throws UnsupportedVerbException if the device does not have an option
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public CompletionQueue completionQueue(CompletionQueueAttributes attributes) {
        return CompletionQueue.make(this, attributes, null);
    }

    /**
     * Loads the library of the device's driver, for modules that know the driver, such as kverbs-mlx5.
     *
     * @param file the file name or the path of the library
     * @param verb the function that tells whose device it is, for the exception
     * @param otherDriver whole sentences that say which driver and which release of rdma-core have it
     * @throws UnsupportedVerbException if the device is not one of libibverbs, or if the library is not there
     */
    public DriverLibrary driverLibrary(String file, String verb, String otherDriver) {
        return DriverLibraries.load(this, file, verb, otherDriver);
    }

    /**
     * Makes an extended completion queue by a driver's own call, for modules that know the driver, such as kverbs-mlx5.
     *
     * @throws IllegalArgumentException if the channel or the parent domain belongs to another context
     * @throws UnsupportedVerbException if the device or its library lacks the call or an option
     * @throws RdmaSystemException if the device refuses; the message names an exceeded limit
     */
    public CompletionQueue completionQueue(CompletionQueueAttributes attributes, DriverObjects driver) {
        return CompletionQueue.make(this, attributes.asExtended(), driver);
    }

    /**
     * Makes counters for flow rules ({@code ibv_create_counters}), without a point yet: see {@link
     * FlowCounters#attach}.
     *
     * @throws UnsupportedVerbException if the device does not have {@link Feature#FLOW_COUNTERS}
     */
    public FlowCounters flowCounters() {
        return FlowCounters.make(this);
    }

    /**
     * Makes a table of work queues for queue pairs that spread frames over them ({@code ibv_create_rwq_ind_table}).
     *
     * @param entries the work queues by index; their number is a power of 2, and a queue can stand in several entries
     * @throws IllegalArgumentException if the number is not a power of 2, or a queue belongs to another context
     * @throws UnsupportedVerbException if the device does not have {@link Feature#WORK_QUEUES}
     * @throws RdmaSystemException if the device refuses, such as for more entries than {@code
     *     DeviceAttributesEx.receiveSideScaling().maxTableSize()}
     */
    public ReceiveIndirectionTable indirectionTable(List<WorkQueue> entries) {
        return ReceiveIndirectionTable.make(this, entries);
    }

    /**
     * Makes a counter of operations that are done ({@code ibv_create_comp_cntr}, {@code IBV_COMP_CNTR_TYPE_WRS}): see
     * {@link CompletionCounter#attach}.
     *
     * @throws UnsupportedVerbException if the device does not have {@link Feature#COMPLETION_COUNTERS}
     */
    public CompletionCounter completionCounter() {
        return CompletionCounter.make(this, CompletionCounterLayout.IBV_COMP_CNTR_TYPE_WRS);
    }

    /**
     * Makes a counter of the bytes of operations that are done ({@code IBV_COMP_CNTR_TYPE_BYTES}); failures count as
     * one each.
     *
     * @throws UnsupportedVerbException as {@link #completionCounter}, or if the device counts no bytes
     */
    public CompletionCounter byteCounter() {
        return CompletionCounter.make(this, CompletionCounterLayout.IBV_COMP_CNTR_TYPE_BYTES);
    }

    /**
     * Queries the limits of completion counters ({@code ibv_query_comp_cntr_caps}).
     *
     * @throws UnsupportedVerbException if the device does not have {@link Feature#COMPLETION_COUNTERS}
     */
    public CompletionCounterCapabilities queryCompletionCounters() {
        return CompletionCounter.capabilities(this);
    }

    /**
     * Returns a file descriptor that is readable while an asynchronous event is pending, or -1 if the provider has
     * none. Only {@link #awaitAsyncEvent} may read from it.
     */
    public int asyncEventFd() {
        lifetime.enter();
        try {
            return verbs.asyncEventFd();
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Waits for an asynchronous event and acknowledges it ({@code ibv_get_async_event}, {@code ibv_ack_async_event}).
     * Blocks the calling thread; a virtual thread blocks its carrier too. Each event goes to one caller.
     *
     * @param timeout how long to wait; zero checks once
     * @return the event, or null if the time ran out
     * @throws IllegalStateException if the context is closed or another thread closes it during the wait
     * @throws InterruptedException if the thread is interrupted; the call notices it within 100 ms
     */
    public @Nullable AsyncEvent awaitAsyncEvent(Duration timeout) throws InterruptedException {
        return events.await(this, timeout);
    }

    @Override
    protected long nativeAddress() {
        return verbs.nativeAddress();
    }

    /** Returns the address of an object of this context for a program's own calls; 0 if libibverbs does not know it. */
    long nativeAddress(long handle) {
        return verbs.nativeAddress() == 0 ? 0 : handle;
    }

    private void wake() {
        verbs.wakeAsyncEvents();
    }

    private void destroy() {
        SystemErrors.check("ibv_close_device(" + device.name() + ")", verbs.close());
    }

    @Override
    public String describe() {
        return "device " + device.name();
    }
}
