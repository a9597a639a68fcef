package org.kverbs;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Remembers where resources were opened and closed, at the price of a stack trace for each. Off by default; on with the
 * system property {@code kverbs.diagnostics=true} or by {@link #enable}. For tests and for the search of a leak.
 *
 * <p>Any thread may call any of this.
 */
public final class Diagnostics {

    private static volatile boolean on = Boolean.getBoolean("kverbs.diagnostics");
    private static final Set<Resource> OPEN = ConcurrentHashMap.newKeySet();
    private static final ThreadLocal<Object> OWNER = new InheritableThreadLocal<>();

    private Diagnostics() {}

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

    /** Everything that was opened while recording was on and isn't closed yet, with the place where it was opened. */
    public static List<Open> openResources() {
        return OPEN.stream().map(r -> new Open(r, r.openedAt(), r.owners())).toList();
    }

    /**
     * Names what the calling thread opens resources for from now on, and every thread that it starts from now on: one
     * of several tests that run at once, for example. {@link Open#owners} tells it.
     *
     * @param owner any object; null for nobody
     * @return the former owner, for the caller to set again
     */
    public static @Nullable Object setOwner(@Nullable Object owner) {
        Object former = OWNER.get();
        if (owner == null) {
            OWNER.remove();
        } else {
            OWNER.set(owner);
        }
        return former;
    }

    /** What the calling thread opens resources for; null if nobody said. */
    public static @Nullable Object owner() {
        return OWNER.get();
    }

    /**
     * An open resource.
     *
     * @param resource the resource
     * @param openedAt a throwable whose stack trace shows where it was opened
     * @param owners what the thread that opened it named by {@link #setOwner}, then the same of each resource that
     *     it was made from; nothing for a thread that named nobody
     */
    public record Open(Resource resource, @Nullable Throwable openedAt, List<Object> owners) {}

    static @Nullable Throwable stackTrace(String what) {
        return on ? new Throwable(what + " by " + Thread.currentThread().getName()) : null;
    }

    static void opened(Resource resource) {
        if (on) {
            OPEN.add(resource);
        }
    }

    static void closed(Resource resource) {
        OPEN.remove(resource);
    }
}
