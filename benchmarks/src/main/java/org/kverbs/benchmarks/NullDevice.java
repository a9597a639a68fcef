package org.kverbs.benchmarks;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import org.kverbs.Context;
import org.kverbs.Device;

/**
 * The device of libnullverbs (core-java/src/test/c), whose queues move nothing: what is left is the cost of the calls.
 */
final class NullDevice {

    /** {@code enum null_option}: every poll gives as many completions as it asks for. */
    private static final int NULL_ENDLESS = 2;

    /** {@code enum null_option}: each signaled send makes a completion at once. */
    private static final int NULL_COMPLETE = 1;

    private NullDevice() {}

    /** Opens it as a card whose requests complete at once, and no others. */
    static Context openCompleting() {
        set(NULL_COMPLETE, 1);
        return open(true, false);
    }

    /**
     * Opens it.
     *
     * @param shortPost whether posting is done as for a card, without a thread state transition, or as for a driver
     *     that makes a system call
     * @param endless whether polls find completions without end, or none
     */
    static Context open(boolean shortPost, boolean endless) {
        System.setProperty("kverbs.shortPost", Boolean.toString(shortPost));
        set(NULL_ENDLESS, endless ? 1 : 0);
        return Device.byName("null0").open();
    }

    private static void set(int option, int value) {
        SymbolLookup library = SymbolLookup.libraryLookup(System.getProperty("kverbs.libibverbs"), Arena.global());
        try {
            Linker.nativeLinker()
                    .downcallHandle(
                            library.findOrThrow("null_set"),
                            FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT))
                    .invokeExact(option, value);
        } catch (Throwable e) {
            throw new IllegalStateException("null_set failed", e);
        }
    }
}
