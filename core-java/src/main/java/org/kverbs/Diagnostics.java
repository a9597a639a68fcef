package org.kverbs;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.Traces;

/**
 * Remembers where resources were opened and closed, at the price of a stack trace for each. Off by default; on with the
 * system property {@code kverbs.diagnostics=true} or by {@link #enable}. For tests and for the search of a leak.
 *
 * <p>Any thread may call any of this.
 */
public final class Diagnostics {

    private Diagnostics() {}

    /** Turns recording on for what is opened and closed from now on. */
    public static void enable() {
        Traces.enable();
    }

    /** Turns recording off and forgets what was recorded. */
    public static void disable() {
        Traces.disable();
    }

    /** Whether recording is on. */
    public static boolean areOn() {
        return Traces.areOn();
    }

    /** Everything that was opened while recording was on and isn't closed yet, with the place where it was opened. */
    public static List<Open> openResources() {
        return Traces.open().stream()
                .map(lifetime -> new Open((Resource) lifetime.resource(), lifetime.openedAt(), lifetime.owners()))
                .toList();
    }

    /**
     * Names what the calling thread opens resources for from now on, and every thread that it starts from now on: one
     * of several tests that run at once, for example. {@link Open#owners} tells it.
     *
     * @param owner any object; null for nobody
     * @return the former owner, for the caller to set again
     */
    public static @Nullable Object setOwner(@Nullable Object owner) {
        Object former = Traces.owner();
        Traces.setOwner(owner);
        return former;
    }

    /** What the calling thread opens resources for; null if nobody said. */
    public static @Nullable Object owner() {
        return Traces.owner();
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
}
