package org.kverbs.embedded.internal.objects;

/** The objects of an open context that its work requests name by the addresses of their structures. */
public record Referenced(Handles<Mr> regions, Handles<Mw> windows, Handles<Ah> addresses) {}
