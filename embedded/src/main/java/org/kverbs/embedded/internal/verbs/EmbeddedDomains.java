package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import org.kverbs.spi.DomainVerbs;

/** The thread domains and parent domains of an open embedded device; takes the engine's lock for each call. */
record EmbeddedDomains(DeviceCalls calls, Domains domains) implements DomainVerbs {

    @Override
    public long allocThreadDomain(MemorySegment init) {
        return calls.make(() -> domains.allocThreads(init.address()));
    }

    @Override
    public int deallocThreadDomain(long td) {
        return calls.call(() -> domains.deallocThreads(td));
    }

    @Override
    public long allocParentDomain(MemorySegment init) {
        return calls.make(() -> domains.allocParent(init.address()));
    }
}
