package org.kverbs.internal;

import java.util.List;
import java.util.ServiceLoader;
import org.kverbs.spi.VerbsProvider;

/** The providers of devices that there are, loaded once, when the first device is asked for. */
public final class Providers {

    /** From a {@code org.kverbs.Device} to its provider. */
    public static final Door<VerbsProvider> DOOR = new Door<>();

    private Providers() {}

    private static final class Loaded {
        static final List<VerbsProvider> NATIVE_FIRST = ServiceLoader.load(
                        VerbsProvider.class, Providers.class.getClassLoader())
                .stream()
                .map(ServiceLoader.Provider::get)
                .sorted((a, b) -> Boolean.compare(b.isNative(), a.isNative()))
                .toList();
    }

    /** Returns all providers, the one of the operating system's devices first. */
    public static List<VerbsProvider> nativeFirst() {
        return Loaded.NATIVE_FIRST;
    }

    /** Returns a sentence that says how to get an embedded device, to follow other sentences; empty if there is one. */
    public static String adviceOnEmbedded() {
        for (VerbsProvider provider : nativeFirst()) {
            if (provider.name().equals("embedded")) {
                return provider.devices().isEmpty()
                        ? " The embedded device, which needs no hardware, library or root, is turned off:"
                                + " KVERBS_EMBEDDED or -Dkverbs.embedded says none."
                        : "";
            }
        }
        return " The embedded device needs no hardware, library or root: add org.kverbs:kverbs-embedded, of the"
                + " version that kverbs-core has, to the class path.";
    }
}
