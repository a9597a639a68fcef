package org.kverbs.samples;

import java.net.InetSocketAddress;
import org.kverbs.Device;
import org.kverbs.MemoryRegion;
import org.kverbs.cm.ConnectionEndpoint;
import org.kverbs.cm.ConnectionListener;
import org.kverbs.cm.EndpointOptions;

/** Connects by an IP address and sends a message, in plain Java: endpoints, whose calls wait. */
public final class JavaEndpoint {
    private static final int SIZE = 64;

    private JavaEndpoint() {}

    /** Runs the sample on the RDMA device with the name args[0], or else on the first one. */
    public static void main(String[] args) throws Exception {
        Device device = args.length == 0 ? Device.first() : Device.byName(args[0]);
        EndpointOptions options = EndpointOptions.DEFAULTS.on(device);
        InetSocketAddress any = new InetSocketAddress(DeviceAddressKt.ipAddressOf(device.name()), 0);
        try (ConnectionListener listener = ConnectionEndpoint.listen(any, options)) {
            Thread client = Thread.ofPlatform().start(() -> greet(listener.localAddress(), options));
            try (ConnectionEndpoint server = listener.awaitRequest()) {
                MemoryRegion memory = server.messageRegion(SIZE);
                server.postReceive(1, memory.slice());
                server.accept();
                server.awaitReceive();
                System.out.println(device.name() + ": " + memory.memory().getString(0));
            }
            client.join();
        }
    }

    /** The other side: from an address to a message. */
    private static void greet(InetSocketAddress address, EndpointOptions options) {
        try (ConnectionEndpoint client = ConnectionEndpoint.to(address, options)) {
            MemoryRegion memory = client.messageRegion(SIZE);
            memory.memory().setString(0, "Hello, endpoint");
            client.connect();
            client.postSend(1, memory.slice());
            client.awaitSend();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
