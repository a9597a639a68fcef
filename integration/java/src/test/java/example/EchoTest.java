package example;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.kverbs.Device;
import org.kverbs.blocking.BlockingConnection;
import org.kverbs.blocking.BlockingHost;
import org.kverbs.blocking.BlockingServer;
import org.kverbs.testkit.junit.RdmaExtension;

@ExtendWith(RdmaExtension.class)
class EchoTest {
    @Test
    void bringsBackWhatWasSent() throws Exception {
        try (BlockingHost host = BlockingHost.open(Device.byName("embedded0"));
                BlockingServer server = host.server().serve(0, Echo::echo);
                BlockingConnection connection =
                        host.connect("198.18.0.1", server.address().getPort())) {
            connection.send(new byte[] {1, 2, 3});
            assertArrayEquals(new byte[] {1, 2, 3}, connection.receive());
            connection.disconnect();
        }
    }
}
