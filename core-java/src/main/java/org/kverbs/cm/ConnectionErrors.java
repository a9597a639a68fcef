package org.kverbs.cm;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.ErrnoNames;
import org.kverbs.internal.SocketAddresses;
import org.kverbs.internal.abi.Errno;

/** Makes the exceptions of failed connection steps, with their wording. */
final class ConnectionErrors {

    private ConnectionErrors() {}

    /** Returns the step with its address: {@code connecting to 10.0.0.1:7471}. */
    static String phrase(ConnectionStep step, @Nullable InetSocketAddress address) {
        return step.phrase() + " " + (address == null ? "an unknown address" : SocketAddresses.format(address));
    }

    /** Makes the exception for an event whose type {@link ConnectionEventType#isError is an error}. */
    static ConnectionException of(ConnectionEvent event) {
        ConnectionStep step = stepOf(event);
        InetSocketAddress address = event.id().addresses().named(step);
        int status = event.status();
        boolean isRejected = event.type() == ConnectionEventType.REJECTED;
        if (isRejected && status < 0) {
            return refused(step, address, -status, event.privateData());
        }
        if (isRejected || event.type() == ConnectionEventType.UNREACHABLE && status > 0) {
            RejectReason reason = isRejected ? RejectReason.of(status) : RejectReason.ofDatagramStatus(status);
            String why = rejection(reason, status, event.privateData()) + reachOf(reason, event.id());
            return new ConnectionRejectedException(step, address, reason, status, event.privateData(), why);
        }
        return status < 0
                ? of(step, address, -status, event.id().manager().reach())
                : new ConnectionException(step, address, 0, event.type() + ", status " + status + ". "
                        + advice(step, 0));
    }

    /** Returns whether the network or the peer caused this errno of a step, and not a wrong call. */
    static boolean isOfNetwork(int errno) {
        return switch (errno) {
            case Errno.ECONNREFUSED, Errno.ECONNRESET, Errno.ETIMEDOUT, Errno.EHOSTUNREACH, Errno.EHOSTDOWN,
                    Errno.ENETUNREACH,
                    Errno.ENETDOWN, Errno.ENODEV -> true;
            default -> false;
        };
    }

    private static String reachOf(RejectReason reason, ConnectionId id) {
        String reach = reason == RejectReason.INVALID_SERVICE_ID ? id.manager().reach() : "";
        return reach.isEmpty() ? "" : " " + reach;
    }

    /**
     * Makes the exception for an errno.
     *
     * @param reach says which addresses the devices reach: {@link org.kverbs.spi.ConnectionManager#reach}
     */
    static ConnectionException of(ConnectionStep step, @Nullable InetSocketAddress address, int errno, String reach) {
        return switch (errno) {
            case Errno.ECONNREFUSED, Errno.ECONNRESET -> refused(step, address, errno, new byte[0]);
            case Errno.ETIMEDOUT ->
                new ConnectionTimeoutException(step, address, ErrnoNames.describe(errno) + ". "
                        + adviceOnTimeout(step));
            case Errno.EHOSTUNREACH, Errno.ENETUNREACH -> {
                String advice = reach.isEmpty() ? advice(step, errno) : reach;
                yield new ConnectionException(step, address, errno, ErrnoNames.describe(errno) + ". " + advice);
            }
            default -> new ConnectionException(step, address, errno, ErrnoNames.describe(errno) + ". "
                    + advice(step, errno));
        };
    }

    /**
     * Makes the exception for a refusal without a reason code. iWARP reports only what TCP reports, and the private
     * data of the peer's program.
     */
    private static ConnectionException refused(
            ConnectionStep step, @Nullable InetSocketAddress address, int errno, byte[] privateData) {
        String text = textOf(privateData);
        String why = text.isEmpty()
                ? "Nobody listens on that port of the peer, or its program rejected the request."
                : "The peer's program said no: " + text + ".";
        return new ConnectionRejectedException(
                step,
                address,
                RejectReason.UNKNOWN,
                -errno,
                privateData,
                ErrnoNames.describe(errno) + ". " + why);
    }

    private static ConnectionStep stepOf(ConnectionEvent event) {
        return switch (event.type()) {
            case ADDR_ERROR, ADDRINFO_ERROR -> ConnectionStep.RESOLVE_ADDRESS;
            case ROUTE_ERROR -> ConnectionStep.RESOLVE_ROUTE;
            case MULTICAST_ERROR -> ConnectionStep.JOIN_MULTICAST;
            case DEVICE_REMOVAL -> ConnectionStep.STAY_CONNECTED;
            default -> event.id().isPassive() ? ConnectionStep.ACCEPT : ConnectionStep.CONNECT;
        };
    }

    private static String rejection(RejectReason reason, int status, byte[] privateData) {
        return "rejected, reason " + status + (reason == RejectReason.UNKNOWN ? "" : " (" + reason + ")") + ". "
                + switch (reason) {
            case INVALID_SERVICE_ID -> "Nobody listens on that port of the peer: check that its program runs, and "
                    + "listens on this port, on this address or all, and in the same port space; ports of TCP are "
                    + "others.";
            case CONSUMER_DEFINED -> "The peer's program said no" + saidBy(privateData) + ".";
            case STALE_CONNECTION -> "For the peer this queue pair is still in a connection: connect with a new one.";
            case INSUFFICIENT_RESPONDER_RESOURCES -> "Ask for fewer reads and atomics (initiator depth).";
            case INVALID_MTU -> "The path's MTU is too large for the peer: compare both sides' in `ibv_devinfo`.";
            case NO_QP, NO_EEC, NO_RESOURCES -> "The peer is short of resources: try again later.";
            case TIMEOUT -> "The peer has gone: it was closed, or waited for this side's answer in vain. Answer "
                    + "earlier, and check that packets come through.";
            default -> "The peer's log may say more.";
        };
    }

    private static String saidBy(byte[] privateData) {
        String text = textOf(privateData);
        return text.isEmpty() ? "; its private data may say why" : ": " + text;
    }

    /** Returns private data as text if it is printable ASCII, with zeros after it or not; otherwise an empty text. */
    private static String textOf(byte[] privateData) {
        String text = new String(privateData, StandardCharsets.ISO_8859_1).replaceFirst("\\x00*$", "");
        return text.matches("[ -~]+") ? text : "";
    }

    private static String advice(ConnectionStep step, int errno) {
        return switch (step) {
            case RESOLVE_ADDRESS -> switch (errno) {
                case Errno.ENODEV ->
                    "No RDMA device leads there: `ip route get ADDRESS` names the network device, and `rdma link` its "
                            + "RDMA device.";
                case Errno.EADDRINUSE ->
                    "UDP port 4791 of this side's embedded device is taken: by another process with a device at the "
                            + "same address, or by the kernel's Soft-RoCE. End that one, or take another address"
                            + " (`KVERBS_EMBEDDED=udp:ADDRESS`).";
                default ->
                    "No way leads there: `ip route get ADDRESS` names the network device, and `ping` asks the peer.";
            };
            case RESOLVE_ROUTE -> "No path was found: on InfiniBand the subnet manager must run (`sminfo`), on RoCE "
                    + "the local address must be in the GID table (`ibv_devinfo -v`).";
            case CONNECT -> "Check that the peer's program runs and listens on this port, and that `ping` reaches it.";
            case ACCEPT -> "The peer gave up, or packets to it are lost.";
            case JOIN_MULTICAST -> "Check that the device offers multicast, and on InfiniBand that the subnet manager "
                    + "runs (`sminfo`).";
            case STAY_CONNECTED -> "The device was unplugged or its driver unloaded: close the id, and what was made "
                    + "from the device.";
        };
    }

    static String adviceOnTimeout(ConnectionStep step) {
        return switch (step) {
            case RESOLVE_ADDRESS -> "Nobody answers for the address (ARP or neighbour discovery): check the address, "
                    + "and `ping` it.";
            case RESOLVE_ROUTE -> "The subnet manager does not answer: check that it runs (`sminfo`), or give more "
                    + "time.";
            case CONNECT -> "The peer's connection manager does not answer: check that the host has an RDMA device at "
                    + "this address, that its program answers requests, and on RoCE that no firewall stops UDP port "
                    + "4791.";
            case ACCEPT -> "The peer did not answer the acceptance: it gave up, or packets to it are lost.";
            case JOIN_MULTICAST -> "The subnet manager does not answer: check that it runs (`sminfo`), or give more "
                    + "time.";
            case STAY_CONNECTED -> "The peer does not answer any more.";
        };
    }
}
