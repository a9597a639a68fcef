package org.kverbs.embedded.internal.engine;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Overflows the stack of a thread that has little left, before it takes a lock: behind that, the overflow can leave the
 * lock taken. This makes more calls within each other than taking and releasing the lock do, of methods that are
 * compiled when those are. It is no guarantee, since compiled calls need less stack than others.
 */
final class StackRoom {

    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(int[].class);
    private static final int[] NOTHING = new int[1];

    private StackRoom() {}

    /** Makes the calls. Without a recursion: that would be compiled long before the calls that it stands for. */
    static int probe() {
        return first();
    }

    private static int first() {
        return second();
    }

    private static int second() {
        return third();
    }

    private static int third() {
        return (int) ELEMENT.getVolatile(NOTHING, 0);
    }
}
