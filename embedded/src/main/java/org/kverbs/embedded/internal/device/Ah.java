package org.kverbs.embedded.internal.device;

/** An address handle ({@code struct ibv_ah}). */
final class Ah {

    final long structure;
    final Pd pd;
    final Route route = new Route();

    Ah(long structure, Pd pd) {
        this.structure = structure;
        this.pd = pd;
    }
}
