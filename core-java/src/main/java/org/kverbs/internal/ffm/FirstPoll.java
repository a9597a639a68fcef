package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * Calls the {@code poll_cq} of the first driver whose queue is polled by critical calls. Its address is a constant for
 * the JIT, which saves half a nanosecond of the five that a poll of a card may take. A program seldom has cards of two
 * drivers; the queues of the second one are polled by {@link Downcalls#pollShort}.
 */
final class FirstPoll {

    /** The address of the function; 0 until a queue claims it. */
    private static volatile long function;

    private FirstPoll() {}

    /** Is initialized by the first poll, when the function is known. */
    private static final class Linked {
        static final MethodHandle HANDLE = Linker.nativeLinker()
                .downcallHandle(
                        MemorySegment.ofAddress(function),
                        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG),
                        Linker.Option.critical(false));
    }

    /** Returns whether {@link #poll} calls this function. The first caller decides which one it is. */
    static synchronized boolean claim(MemorySegment pollCq) {
        if (function == 0) {
            function = pollCq.address();
        }
        return function == pollCq.address();
    }

    /** Makes the call for a queue whose function was claimed. */
    static int poll(long cq, int count, long completions) {
        try {
            return (int) Linked.HANDLE.invokeExact(cq, count, completions);
        } catch (Throwable t) {
            throw Downcalls.impossible(t);
        }
    }
}
