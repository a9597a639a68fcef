package org.kverbs.benchmarks;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import org.kverbs.Context;
import org.kverbs.Device;

/**
 * Opens the device of libnullverbs (core-java/src/test/c), whose queues move no data, so that only the cost of the
 * calls remains.
 */
final class NullDevice {

    /** {@code enum null_option}: every poll returns as many completions as the caller asks for. */
    private static final int NULL_ENDLESS = 2;

    /** {@code enum null_option}: each signaled send makes a completion at once. */
    private static final int NULL_COMPLETE = 1;

    /** {@code enum null_option}: a poll takes only completions that were there at the poll before. */
    private static final int NULL_LATE = 19;

    private NullDevice() {}

    /** Makes the first poll after a post miss its completion, as with a card that takes time; or no longer. */
    static void completeLate(boolean isLate) {
        set(NULL_LATE, isLate ? 1 : 0);
    }

    /** Opens the device as a card whose signaled sends complete at once. */
    static Context openCompleting() {
        set(NULL_COMPLETE, 1);
        return open(true, false);
    }

    /**
     * Opens the device.
     *
     * @param shortPost whether posts are called as for a card, without a thread state transition, or as for a driver
     *     that makes a system call
     * @param endless whether each poll finds completions, or none
     */
    static Context open(boolean shortPost, boolean endless) {
        try {
            EmbeddedBeside.use();
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted before the benchmark began", e);
        }
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
