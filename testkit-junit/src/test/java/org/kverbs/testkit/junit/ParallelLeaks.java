package org.kverbs.testkit.junit;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.kverbs.Context;
import org.kverbs.Device;

/** Two tests that {@link RdmaExtensionTest} runs at the same time: one of them leaks. */
@ExtendWith(RdmaExtension.class)
class ParallelLeaks {

    private static final CyclicBarrier BARRIER = new CyclicBarrier(2);
    private static Context leaked;

    @AfterAll
    static void close() {
        leaked.close();
    }

    @Test
    void leaks() throws Exception {
        leaked = Device.byName("embedded0").open();
        meet();
        meet();
    }

    @Test
    void isTidy() throws Exception {
        meet();
        Device.byName("embedded1").open().close();
        meet();
    }

    private static void meet() throws Exception {
        BARRIER.await(1, TimeUnit.MINUTES);
    }
}
