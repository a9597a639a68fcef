package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.MemorySegment;
import java.util.function.LongSupplier;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.spi.DomainVerbs;

/** The thread domains and parent domains of an open embedded device; takes the engine's lock for each call. */
record EmbeddedDomains(Engine engine, Domains domains) implements DomainVerbs {

    private long locked(LongSupplier call) {
        engine.enter();
        try {
            return call.getAsLong();
        } finally {
            engine.leave();
        }
    }

    @Override
    public long allocThreadDomain(MemorySegment init) {
        return locked(() -> domains.allocThreads(init.address()));
    }

    @Override
    public int deallocThreadDomain(long td) {
        return (int) locked(() -> domains.deallocThreads(td));
    }

    @Override
    public long allocParentDomain(MemorySegment init) {
        return locked(() -> domains.allocParent(init.address()));
    }
}
