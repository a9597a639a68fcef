package org.kverbs.testkit.junit;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.kverbs.Context;
import org.kverbs.Device;

/** Tests that {@link RdmaExtensionTest} runs: one of them leaks. */
@ExtendWith(RdmaExtension.class)
class Leaks {

    private static Context shared;
    private static Context leaked;
    private Context closedAfterwards;

    @BeforeAll
    static void open() {
        shared = Device.byName("embedded0").open();
    }

    @AfterAll
    static void close() {
        shared.close();
        leaked.close();
    }

    @AfterEach
    void tidy() {
        if (closedAfterwards != null) {
            closedAfterwards.close();
        }
    }

    @Test
    void leaks() {
        leaked = Device.byName("embedded0").open();
    }

    @Test
    void isTidy() {
        shared.protectionDomain().close();
    }

    @Test
    void isTidyAfterwards() {
        closedAfterwards = Device.byName("embedded0").open();
    }

    @Test
    void failsByItself() {
        shared.protectionDomain();
        throw new IllegalStateException("its own");
    }
}
