package org.kverbs.embedded.internal.objects;

/** Holds the objects of an open context that work requests name by the addresses of their structures. */
public record Referenced(Handles<Mr> regions, Handles<Mw> windows, Handles<Ah> addresses) {

    private static final Referenced NOTHING = new Referenced(empty(), empty(), empty());

    private static <T> Handles<T> empty() {
        return new Handles<>(new Structures(), 0, 0, Quota.none());
    }

    /** Returns no objects, for a queue pair that sends nothing and can outlive the context that made it. */
    public static Referenced nothing() {
        return NOTHING;
    }
}
