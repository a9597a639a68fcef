package org.kverbs.embedded.internal.objects;

/** Holds the objects of an open context that work requests name by the addresses of their structures. */
public record Referenced(Handles<Mr> regions, Handles<Mw> windows, Handles<Ah> addresses) {}
