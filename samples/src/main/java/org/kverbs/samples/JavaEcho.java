package org.kverbs.samples;

import java.time.Duration;
import org.kverbs.CompletionQueue;
import org.kverbs.Context;
import org.kverbs.Device;
import org.kverbs.MemoryRegion;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePair;
import org.kverbs.QueuePairInitAttributes;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.QueuePairType;

/** Sends a message to a server, which sends it back: kverbs from Java. */
public final class JavaEcho {
    private static final int SIZE = 64;
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private JavaEcho() {}

    /** Runs the sample on the RDMA device with the name args[0], or else on the first one. */
    public static void main(String[] args) throws InterruptedException {
        try (Context device = (args.length == 0 ? Device.first() : Device.byName(args[0])).open()) {
            System.out.println("device: " + device.device().name());
            ProtectionDomain pd = device.protectionDomain();
            End client = End.on(pd);
            End server = End.on(pd);
            client.queuePair.connect(server.queuePair.endpoint());
            server.queuePair.connect(client.queuePair.endpoint());

            client.queuePair.postReceive(1, client.memory.slice());
            server.queuePair.postReceive(1, server.memory.slice());

            client.memory.memory().setString(0, "Hello, echo");
            client.send();
            server.await(1); // the message
            System.out.println("server: " + server.memory.memory().getString(0));

            client.await(1); // its own send: from here on the memory can be changed
            client.memory.memory().fill((byte) 0);
            server.send();
            client.await(1); // the answer
            System.out.println("client: " + client.memory.memory().getString(0));
        }
    }

    /** A queue pair with its completion queue and its memory. Closing the device closes all of them. */
    private record End(QueuePair queuePair, CompletionQueue completions, MemoryRegion memory) {
        static End on(ProtectionDomain pd) {
            CompletionQueue cq = pd.context().completionQueue(16);
            return new End(
                    pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq)),
                    cq,
                    pd.memoryRegion(SIZE, AccessFlag.LOCAL_WRITE));
        }

        void send() {
            queuePair.postWith(requests -> requests.send(2).from(memory.slice()).signaled());
        }

        void await(int count) throws InterruptedException {
            for (var completion : completions.await(count, TIMEOUT)) {
                completion.orThrow();
            }
        }
    }
}
