package org.kverbs.internal;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Records for {@code org.kverbs.Diagnostics} where lifetimes were opened and closed, and their owners. */
public final class Traces {

    private static volatile boolean on = Boolean.getBoolean("kverbs.diagnostics");
    private static final Set<Lifetime> OPEN = ConcurrentHashMap.newKeySet();
    private static final ThreadLocal<Object> OWNER = new InheritableThreadLocal<>();

    private Traces() {}

    /** Turns recording on for lifetimes that are opened or closed after this call. */
    public static void enable() {
        on = true;
    }

    /** Turns recording off and forgets all open lifetimes. */
    public static void disable() {
        on = false;
        OPEN.clear();
    }

    /** Returns whether recording is on. */
    public static boolean areOn() {
        return on;
    }

    /** Returns the lifetimes that were opened while recording was on and are still open. */
    public static Set<Lifetime> open() {
        return Set.copyOf(OPEN);
    }

    /**
     * Sets the owner of the resources that the calling thread, and every thread that it starts after this call, opens;
     * null for none.
     */
    public static void setOwner(@Nullable Object owner) {
        if (owner == null) {
            OWNER.remove();
        } else {
            OWNER.set(owner);
        }
    }

    /** Returns the owner of the resources that the calling thread opens, or null if it has none. */
    public static @Nullable Object owner() {
        return OWNER.get();
    }

    static @Nullable Throwable stackTrace(String what) {
        return on ? new Throwable(what + " by " + Thread.currentThread().getName()) : null;
    }

    static void opened(Lifetime lifetime) {
        if (on) {
            OPEN.add(lifetime);
        }
    }

    static void closed(Lifetime lifetime) {
        OPEN.remove(lifetime);
    }
}
