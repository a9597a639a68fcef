package org.kverbs.dsl

/**
 * What a transport can do, as a type: the operations of a [SendScope] are there or not by this, so that a wrong one
 * does not compile. Nothing implements it; IBA vol 1, table 46 has the operations of each transport.
 */
public sealed interface Verbs

/** Messages over a connection, which name no address: RC and UC. */
public sealed interface ConnectedVerbs : Verbs

/** Writing into the peer's memory, and the windows that this needs: RC and UC. */
public sealed interface WriteVerbs : Verbs

/** Reads, atomics and the invalidation of the peer's keys: RC. */
public sealed interface ReadVerbs : Verbs

/** Messages that name their address: UD. */
public sealed interface DatagramVerbs : Verbs

/** What a reliable connection can do. */
public sealed interface RcVerbs :
    ConnectedVerbs,
    WriteVerbs,
    ReadVerbs

/** What an unreliable connection can do. */
public sealed interface UcVerbs :
    ConnectedVerbs,
    WriteVerbs

/** What unreliable datagrams can do. */
public sealed interface UdVerbs : DatagramVerbs

/** Everything, where the type isn't known at compile time; the device refuses what it can't do. */
public sealed interface AnyVerbs :
    RcVerbs,
    UdVerbs
