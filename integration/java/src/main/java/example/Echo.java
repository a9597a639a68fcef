package example;

import java.nio.charset.StandardCharsets;
import org.kverbs.Device;
import org.kverbs.blocking.BlockingConnection;
import org.kverbs.blocking.BlockingHost;
import org.kverbs.blocking.BlockingServer;

/** A server that echoes, and a client that sends it "ping", on the embedded device. */
public final class Echo {
    private Echo() {}

    public static void main(String[] args) throws Exception {
        try (BlockingHost host = BlockingHost.open(Device.byName("embedded0"));
                BlockingServer server = host.server().serve(0, Echo::echo);
                BlockingConnection connection =
                        host.connect("198.18.0.1", server.address().getPort())) {
            connection.send("ping".getBytes(StandardCharsets.UTF_8));
            System.out.println("echoed: " + new String(connection.receive(), StandardCharsets.UTF_8));
            connection.disconnect();
        }
    }

    static void echo(BlockingConnection connection) throws InterruptedException {
        byte[] message = connection.receiveOrNull();
        while (message != null) {
            connection.send(message);
            message = connection.receiveOrNull();
        }
    }
}
