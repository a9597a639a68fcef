package org.kverbs.internal;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** What {@code org.kverbs.Diagnostics} remembers: where lifetimes were opened and closed, and for whom. */
public final class Traces {

    private static volatile boolean on = Boolean.getBoolean("kverbs.diagnostics");
    private static final Set<Lifetime> OPEN = ConcurrentHashMap.newKeySet();
    private static final ThreadLocal<Object> OWNER = new InheritableThreadLocal<>();

    private Traces() {}

    /** Turns recording on for what is opened and closed from now on. */
    public static void enable() {
        on = true;
    }

    /** Turns recording off and forgets what was recorded. */
    public static void disable() {
        on = false;
        OPEN.clear();
    }

    /** Whether recording is on. */
    public static boolean areOn() {
        return on;
    }

    /** What was opened while recording was on and isn't closed yet. */
    public static Set<Lifetime> open() {
        return Set.copyOf(OPEN);
    }

    /**
     * Names what the calling thread, and every thread that it starts from now on, opens resources for; null for nobody.
     */
    public static void setOwner(@Nullable Object owner) {
        if (owner == null) {
            OWNER.remove();
        } else {
            OWNER.set(owner);
        }
    }

    /** What the calling thread opens resources for; null if nobody said. */
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
