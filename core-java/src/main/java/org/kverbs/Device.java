package org.kverbs;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.NodeType;
import org.kverbs.attributes.TransportType;
import org.kverbs.internal.Providers;
import org.kverbs.internal.values.Guids;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.VerbsContext;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsOpenResult;
import org.kverbs.spi.VerbsProvider;

/**
 * An RDMA device that can be opened ({@code struct ibv_device}). Immutable and safe for any thread. The same device
 * found twice, in two lists or by its name, is equal.
 *
 * <pre>{@code
 * try (Context context = Device.first().open()) {
 *     System.out.println(context.queryDevice());
 * }
 * }</pre>
 *
 * <p>Source: {@code man 3 ibv_get_device_list}, {@code ibv_open_device}.
 */
public final class Device {

    static {
        Providers.DOOR.open(device -> ((Device) device).provider);
    }

    private final VerbsProvider provider;
    private final VerbsDevice device;

    private Device(VerbsProvider provider, VerbsDevice device) {
        this.provider = provider;
        this.device = device;
    }

    /**
     * Lists the devices that exist now: first those of the operating system in the order of libibverbs, then those of
     * other providers.
     *
     * @throws LibraryUnavailableException if no provider works on this machine; the message says why and what to
     *     install
     */
    public static List<Device> list() {
        var devices = new ArrayList<Device>();
        RdmaException unavailable = null;
        for (VerbsProvider provider : Providers.nativeFirst()) {
            try {
                for (VerbsDevice device : provider.devices()) {
                    devices.add(new Device(provider, device));
                }
            } catch (LibraryUnavailableException e) {
                unavailable = e;
            }
        }
        if (devices.isEmpty() && unavailable != null) {
            throw unavailable;
        }
        return List.copyOf(devices);
    }

    /**
     * Returns the first device of {@link #list}.
     *
     * @throws DeviceNotFoundException if no device exists
     */
    public static Device first() {
        return find("any device", d -> true);
    }

    /**
     * Finds a device by its name, such as {@code mlx5_0} or {@code rxe0}.
     *
     * @throws DeviceNotFoundException if no such device exists; the message names the devices that do
     */
    public static Device byName(String name) {
        Objects.requireNonNull(name, "name");
        return find("device '" + name + "'", d -> d.name().equals(name));
    }

    /**
     * Finds a device by its node GUID, a number in host order: {@code 0x506b4b0300c2d1a4L}.
     *
     * @throws DeviceNotFoundException if no such device exists; the message names the devices that do
     */
    public static Device byGuid(long guid) {
        return find("device with GUID " + Guids.format(guid), d -> d.guid() == guid);
    }

    /**
     * Wraps a device that its provider does not list, such as one made for a test.
     *
     * @param provider the provider that {@link #provider} names
     */
    public static Device of(VerbsProvider provider, VerbsDevice device) {
        Providers.nativeFirst(); // the native provider offers what all queues use: see ProcessFence
        return new Device(Objects.requireNonNull(provider, "provider"), Objects.requireNonNull(device, "device"));
    }

    private static Device find(String asked, Predicate<Device> matches) {
        List<Device> devices = list();
        return devices.stream()
                .filter(matches)
                .findFirst()
                .orElseThrow(() -> new DeviceNotFoundException(
                        asked, devices.stream().map(Device::name).toList()));
    }

    /** Returns the name of the device ({@code ibv_get_device_name}). */
    public String name() {
        return device.name();
    }

    /** Returns the node GUID as a number in host order, or 0 if it is unknown ({@code ibv_get_device_guid}). */
    public long guid() {
        return device.guid();
    }

    /**
     * Returns the kernel's number of the device, which stays the same as long as the device exists ({@code
     * ibv_get_device_index}); -1 if there is none, as with an embedded device, a kernel without netlink for RDMA, or
     * rdma-core before 30.
     */
    public int index() {
        return device.index();
    }

    /** Returns the kind of node, or UNKNOWN if {@link #rawNodeType} has no name. */
    public NodeType nodeType() {
        return NodeType.of(device.nodeType());
    }

    /** Returns the number of {@link #nodeType}: {@code enum ibv_node_type}. */
    public int rawNodeType() {
        return device.nodeType();
    }

    /**
     * Returns the transport, or UNKNOWN if {@link #rawTransportType} has no name. A RoCE device has {@link
     * TransportType#IB}.
     */
    public TransportType transportType() {
        return TransportType.of(device.transportType());
    }

    /** Returns the number of {@link #transportType}: {@code enum ibv_transport_type}. */
    public int rawTransportType() {
        return device.transportType();
    }

    /**
     * Returns the name of the device's provider: {@code native} for libibverbs, {@code embedded} for the software
     * device.
     */
    public String provider() {
        return provider.name();
    }

    /** Returns the counters of port 1; see {@link #counters(int)}. */
    public Map<String, Long> counters() {
        return counters(1);
    }

    /**
     * Returns the counters of a port by name: packets, bytes, retransmissions, RNR NAKs and others.
     *
     * <p>For a device of the operating system these are the files {@code counters/*} and {@code hw_counters/*} of the
     * port under {@code /sys/class/infiniband}. The driver chooses their names and meaning and counts from the time it
     * was loaded.
     *
     * <p>An embedded device counts from its creation, over all contexts and queue pairs. It uses the names of Soft-RoCE
     * where Soft-RoCE has one: {@code sent_pkts}, {@code rcvd_pkts}, {@code sent_bytes}, {@code rcvd_bytes} (of
     * payload), {@code retrans_pkts}, {@code duplicate_request}, {@code out_of_seq_request}, {@code send_rnr_err} and
     * {@code rcvd_rnr_err} (RNR NAKs sent and received), {@code rcvd_seq_err}, {@code completer_retry_err}, {@code
     * local_ack_timeout_err}, {@code retry_exceeded_err}, {@code retry_rnr_exceeded_err}, {@code
     * req_remote_access_errors}, {@code resp_remote_access_errors}, {@code out_of_buffer}, {@code
     * np_ecn_marked_roce_packets}, {@code np_cnp_sent}, {@code rp_cnp_handled} and {@code rp_cnp_ignored} (congestion
     * marks received, notifications sent, obeyed and ignored), {@code qkey_viol_cntr}, {@code bad_pkey_cntr},
     * {@code port_xmit_discards}, {@code rx_icrc_encapsulated} (wrong ICRC), {@code
     * port_rcv_errors}, {@code cm_rx_req}, {@code cm_tx_rej} and {@code cm_rx_rej} (connection requests received,
     * refusals sent and received).
     *
     * @param port the number of the port, from 1
     * @return a copy; empty if the device has no such port or no counters
     */
    public Map<String, Long> counters(int port) {
        return device.counters(port);
    }

    /**
     * Opens the device. Each call makes a new context, which the caller owns and closes.
     *
     * @throws RdmaSystemException if the device refuses, such as ENOENT or EACCES if this user cannot open its file
     *     under /dev/infiniband
     */
    public Context open() {
        VerbsOpenResult result = device.open();
        VerbsContext opened = result.context();
        if (opened == null) {
            throw SystemErrors.of("ibv_open_device(" + name() + ")", result.errno());
        }
        return new Context(this, opened);
    }

    /**
     * Makes a context from the descriptor of another one ({@code ibv_import_device}), of this process or of one that
     * sent its descriptor. The objects of the exporter are then imported by their numbers: {@link
     * Context#importProtectionDomain}, {@link ProtectionDomain#importRegion}, {@link Context#importDeviceMemory}.
     *
     * <p>The new context owns the descriptor and closes it. So give a duplicate: one that came over a UNIX socket is,
     * and {@link Context#duplicateDescriptor} makes one.
     *
     * <p>After a refusal by libibverbs itself the descriptor is still open and the caller's: EINVAL if it is no
     * character device, ENODEV if no RDMA device has it, ENOSYS or EOPNOTSUPP if the library or the driver has no
     * import. A driver that fails has closed it, with the errno of the kernel. Do not close a descriptor that another
     * thread can have reused by then: where the two cannot be told apart, a leaked descriptor is the lesser fault. A
     * refusal by an embedded device leaves nothing to close.
     *
     * <p>A descriptor of an embedded device works within this process only.
     *
     * @param descriptor a duplicate of {@link Context#commandDescriptor}, of a context of this device
     * @return the context, which the caller owns and closes
     * @throws UnsupportedVerbException if the device does not have {@code Feature.IMPORT}, or the installed rdma-core
     *     is older than 31
     * @throws RdmaSystemException EINVAL or ENODEV if the descriptor is not one of this device
     */
    public Context importContext(int descriptor) {
        Ranges.require("descriptor", descriptor, 0, Integer.MAX_VALUE);
        VerbsOpenResult result = device.importContext(descriptor);
        VerbsContext imported = result.context();
        if (imported == null) {
            String operation = "ibv_import_device(cmd_fd=" + descriptor + ")";
            throw SystemErrors.optional(name(), operation, result.errno(), Feature.IMPORT.needs());
        }
        return new Context(this, imported);
    }

    /** Returns whether {@code other} is a device of the same provider with the same name, GUID and kernel's number. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Device that
                && provider == that.provider
                && name().equals(that.name())
                && guid() == that.guid()
                && index() == that.index();
    }

    @Override
    public int hashCode() {
        return name().hashCode();
    }

    /** Returns the name and the GUID: {@code rxe0 (b4ef:93ff:fe74:597e)}. */
    @Override
    public String toString() {
        return name() + " (" + Guids.format(guid()) + ")";
    }
}
