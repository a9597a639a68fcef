package org.kverbs.testkit.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.kverbs.CompletionQueue;
import org.kverbs.Context;
import org.kverbs.Device;
import org.kverbs.MemorySlice;
import org.kverbs.ProtectionDomain;
import org.kverbs.QueuePair;
import org.kverbs.QueuePairInitAttributes;
import org.kverbs.attributes.AccessFlag;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.embedded.EmbeddedFabric;

/** Tests that {@link RdmaExtensionTest} runs: they ask for their own devices. */
@ExtendWith(RdmaExtension.class)
class Devices {

    private EmbeddedFabric fabric;

    @BeforeEach
    void keep(EmbeddedFabric fabric) {
        this.fabric = fabric;
    }

    @Test
    void hasTwo(Device client, EmbeddedFabric fabric, Device server) {
        assertEquals(this.fabric, fabric);
        assertNotEquals(client, server);
        assertEquals(List.of(client, server), fabric.devices());
        assertEquals(Duration.ZERO, fabric.clock().elapsed());
    }

    @Test
    void hasOthers(Device client) {
        assertEquals(List.of(client), fabric.devices());
    }

    @Test
    void misuses(Device device) throws InterruptedException {
        try (Context context = device.open()) {
            ProtectionDomain pd = context.protectionDomain();
            CompletionQueue completions = context.completionQueue(16);
            QueuePair one = pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, completions));
            QueuePair other = pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, completions));
            one.connect(other.endpoint());
            other.connect(one.endpoint());
            MemorySlice message = pd.memoryRegion(8, AccessFlag.LOCAL_WRITE).slice();
            try (Arena arena = Arena.ofConfined()) {
                MemorySlice memory =
                        pd.register(arena.allocate(64), AccessFlag.LOCAL_WRITE).slice();
                other.postReceive(1, memory);
            }
            one.postWith(requests -> requests.send(2).signaled().from(message));
            completions.await(1, Duration.ofSeconds(10));
        }
    }

    @Test
    void isAskedForSomethingElse(String what) {}
}
