package org.kverbs.samples.docs;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Duration;
import org.kverbs.Device;
import org.kverbs.blocking.BlockingConnection;
import org.kverbs.blocking.BlockingHost;
import org.kverbs.blocking.BlockingServer;
import org.kverbs.blocking.BlockingServerBuilder;

/** The Java snippet of docs/services.md. */
final class ServicesSnippets {
    private ServicesSnippets() {}

    static void echo(String device) throws Exception {
        try (BlockingHost host = BlockingHost.open(Device.byName(device))) {
            BlockingServerBuilder settings = host.server().maxConnections(100).idleTimeout(Duration.ofMinutes(1));
            try (BlockingServer server = settings.serve(7471, connection -> {
                        for (byte[] message; (message = connection.receiveOrNull()) != null; ) {
                            connection.send(message);
                        }
                    });
                    BlockingConnection client = host.connect("198.18.0.1", server.address().getPort())) {
                client.send("ping".getBytes(UTF_8));
                System.out.println(new String(client.receive(Duration.ofSeconds(10)), UTF_8));
                client.disconnect();
            }
        }
    }
}
