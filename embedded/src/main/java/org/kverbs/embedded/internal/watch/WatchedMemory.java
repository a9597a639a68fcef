package org.kverbs.embedded.internal.watch;

/** A region of which memory is watched. */
public interface WatchedMemory {

    /** Whether the program has not freed it. */
    boolean isAlive();
}
