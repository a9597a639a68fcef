package org.kverbs.internal.jfr;

import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Records what happens to devices, queue pairs and connections as events of Java Flight Recorder. Without a recording,
 * or without the module {@code jdk.jfr}, each call returns after one comparison or two. No call is on the path of a
 * request that succeeds at once. Any thread can call.
 */
public final class FlightRecords {

    /** False in a runtime image without Flight Recorder. */
    private static final boolean IS_THERE =
            ModuleLayer.boot().findModule("jdk.jfr").isPresent();

    private FlightRecords() {}

    /**
     * Records a completion that failed.
     *
     * @param device the name of the device; null where it is not known
     * @param status the name of the status, of {@code enum ibv_wc_status}
     * @param opcode the name of the operation; null where it is not known
     */
    public static void completionError(@Nullable String device, int queuePairNumber, long workRequestId, String status,
            @Nullable String opcode, int vendorError) {
        if (IS_THERE) {
            CompletionErrorEvent.record(device, queuePairNumber, workRequestId, status, opcode, vendorError);
        }
    }

    /**
     * Records an asynchronous event of a device.
     *
     * @param source the object or the port that the event is about
     */
    public static void asyncEvent(String device, String type, String source) {
        if (IS_THERE) {
            DeviceEvent.record(device, type, source);
        }
    }

    /** Begins to measure how long a connection takes to be set up; null if no recording wants to know. */
    public static @Nullable ConnectionAttempt beginConnection() {
        return IS_THERE ? ConnectionAttempt.begin() : null;
    }

    /**
     * Records the end of a connection that this side did not end.
     *
     * @param nanos how long the connection was up
     */
    public static void connectionLost(String device, int queuePairNumber, @Nullable InetSocketAddress peer, long nanos,
            String reason) {
        if (IS_THERE) {
            ConnectionLostEvent.record(device, queuePairNumber, text(peer), nanos, reason);
        }
    }

    /** Records the end of a message channel that its program did not close. */
    public static void channelFailed(String device, int queuePairNumber, Throwable cause) {
        if (IS_THERE) {
            ChannelFailedEvent.record(device, queuePairNumber, cause);
        }
    }

    /** Begins to measure a wait; null if no recording wants to know of slow ones. */
    public static @Nullable MeasuredWait beginWait() {
        return IS_THERE ? SlowWaitEvent.beginOrNull() : null;
    }

    /** The text of an address without a lookup of its name; null for none. */
    static @Nullable String text(@Nullable InetSocketAddress address) {
        if (address == null) {
            return null;
        }
        String host = address.isUnresolved() || address.getAddress() == null
                ? address.getHostString()
                : address.getAddress().getHostAddress();
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + address.getPort();
    }
}
