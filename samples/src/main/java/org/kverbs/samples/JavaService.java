package org.kverbs.samples;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.kverbs.Device;
import org.kverbs.blocking.BlockingConnection;
import org.kverbs.blocking.BlockingHost;
import org.kverbs.blocking.BlockingServer;

/** Runs a server with a virtual thread for each connection, and clients on virtual threads. */
public final class JavaService {
    private static final int CLIENTS = 20;

    private JavaService() {}

    /** Runs the sample on the RDMA device with the name args[0], or else on the first one. */
    public static void main(String[] args) throws Exception {
        Device device = args.length == 0 ? Device.first() : Device.byName(args[0]);
        String address = DeviceAddressKt.ipAddressOf(device.name()).getHostAddress();
        try (BlockingHost host = BlockingHost.open(device);
                BlockingServer server = host.server().maxConnections(100).serve(0, JavaService::greet);
                var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            int port = server.address().getPort();
            List<Future<String>> answers = new ArrayList<>();
            for (int n = 1; n <= CLIENTS; n++) {
                String name = "client " + n;
                answers.add(threads.submit(() -> ask(host, address, port, name)));
            }
            int greeted = 0;
            for (Future<String> answer : answers) {
                if (answer.get().startsWith("Hello, client ")) {
                    greeted++;
                }
            }
            System.out.println(device.name() + ": " + greeted + " of " + CLIENTS + " clients were greeted");
        }
    }

    /** Serves one client, on a virtual thread, which can block at little cost. */
    private static void greet(BlockingConnection connection) throws InterruptedException {
        byte[] name = connection.receiveOrNull();
        while (name != null) {
            connection.send(bytes("Hello, " + text(name)));
            name = connection.receiveOrNull();
        }
    }

    private static String ask(BlockingHost host, String address, int port, String name) throws InterruptedException {
        try (BlockingConnection connection = host.connect(address, port)) {
            connection.send(bytes(name));
            String answer = text(connection.receive());
            connection.disconnect();
            return answer;
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] message) {
        return new String(message, StandardCharsets.UTF_8);
    }
}
