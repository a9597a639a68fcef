package org.kverbs;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.Traces;

/**
 * Records where resources are opened and closed, for tests and to find leaks. Each record costs a stack trace.
 * Recording is off by default; the system property {@code kverbs.diagnostics=true} or {@link #enable} turns it on.
 *
 * <p>Safe for any thread.
 */
public final class Diagnostics {

    private Diagnostics() {}

    /** Turns recording on for resources that are opened or closed after this call. */
    public static void enable() {
        Traces.enable();
    }

    /** Turns recording off and forgets all open resources. */
    public static void disable() {
        Traces.disable();
    }

    /** Returns whether recording is on. */
    public static boolean areOn() {
        return Traces.areOn();
    }

    /**
     * Returns the resources that were opened while recording was on and are still open, each with the place where it
     * was opened.
     */
    public static List<Open> openResources() {
        return Traces.open().stream()
                .map(lifetime -> new Open((Resource) lifetime.resource(), lifetime.openedAt(), lifetime.owners()))
                .toList();
    }

    /**
     * Sets the owner of the resources that the calling thread, and every thread that it starts after this call, opens.
     * A test framework uses this to tell apart tests that run at the same time. {@link Open#owners} returns the owners.
     *
     * @param owner any object; null for no owner
     * @return the former owner, so that the caller can restore it
     */
    public static @Nullable Object setOwner(@Nullable Object owner) {
        Object former = Traces.owner();
        Traces.setOwner(owner);
        return former;
    }

    /** Returns the owner of the resources that the calling thread opens, or null if it has none. */
    public static @Nullable Object owner() {
        return Traces.owner();
    }

    /**
     * An open resource.
     *
     * @param resource the resource
     * @param openedAt a throwable whose stack trace shows where it was opened
     * @param owners the owner that the opening thread had by {@link #setOwner}, then the owners of each resource that
     *     this one was made from; without those of threads that had none
     */
    public record Open(Resource resource, @Nullable Throwable openedAt, List<Object> owners) {}
}
