package org.kverbs.embedded;

import java.util.Map;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.verbs.EmbeddedContext;
import org.kverbs.internal.abi.IbvNodeType;
import org.kverbs.internal.abi.IbvTransportType;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsOpenResult;

/** Stands for an embedded device in the provider's list. */
record EmbeddedDevice(Hca hca) implements VerbsDevice {

    @Override
    public String name() {
        return hca.name();
    }

    @Override
    public long guid() {
        return hca.guid();
    }

    @Override
    public int nodeType() {
        return IbvNodeType.IBV_NODE_CA;
    }

    @Override
    public int transportType() {
        return IbvTransportType.IBV_TRANSPORT_IB;
    }

    @Override
    public Map<String, Long> counters(int port) {
        return hca.counters(port);
    }

    @Override
    public VerbsOpenResult open() {
        return EmbeddedContext.open(hca);
    }

    @Override
    public VerbsOpenResult importContext(int descriptor) {
        return EmbeddedContext.importContext(hca, descriptor);
    }
}
