package org.kverbs.embedded.internal.objects;

/**
 * A queue pair, as memory keys know it: they ask for whom memory is used. Each queue pair is one object, compared by
 * identity.
 */
public interface KeyUser {

    /** The protection domain in which it was made. */
    Pd pd();

    /** The keys of its device. */
    Keys keys();
}
