package org.kverbs.embedded.internal.objects;

/** A thread domain ({@code struct ibv_td}). */
public final class Td {

    /** The number of parent domains with this thread domain. */
    public int users;
}
