package org.kverbs.embedded.internal.objects;

/** An address handle ({@code struct ibv_ah}). */
public final class Ah {

    final long structure;
    public final Pd pd;
    public final AddressVector route = new AddressVector();

    public Ah(long structure, Pd pd) {
        this.structure = structure;
        this.pd = pd;
    }
}
