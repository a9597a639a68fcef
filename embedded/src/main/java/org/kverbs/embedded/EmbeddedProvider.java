package org.kverbs.embedded;

import java.util.List;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsProvider;

/**
 * The provider of the embedded devices: {@code embedded0} and {@code embedded1}, joined in this JVM. They are there on every machine, and come
 * after the hardware's where no device is asked for by name.
 */
public final class EmbeddedProvider implements VerbsProvider {

    /** For {@link java.util.ServiceLoader}. */
    public EmbeddedProvider() {}

    @Override
    public String name() {
        return "embedded";
    }

    @Override
    public boolean isNative() {
        return false;
    }

    @Override
    public List<VerbsDevice> devices() {
        return DefaultFabric.DEVICES;
    }

    /** Made when it is first asked for. */
    private static final class DefaultFabric {
        static final List<VerbsDevice> DEVICES = EmbeddedFabric.create().verbsDevices();
    }
}
