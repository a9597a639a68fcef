package org.kverbs.embedded.internal.objects;

/** An XRC domain as a context has opened it ({@code struct ibv_xrcd}). */
public final class OpenXrcDomain {

    public final XrcDomain domain;
    /** The number of shared receive queues and queue pairs that the context made or opened through this structure. */
    public int users;

    public OpenXrcDomain(XrcDomain domain) {
        this.domain = domain;
    }
}
