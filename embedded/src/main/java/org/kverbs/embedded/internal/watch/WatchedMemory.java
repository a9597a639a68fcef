package org.kverbs.embedded.internal.watch;

/** Represents a region whose memory is watched. */
public interface WatchedMemory {

    /** Tells whether the program has not freed a part of the memory. */
    boolean isAlive(long address, long length);
}
