package org.kverbs.dsl

/**
 * A set of operations as a type. It is the type argument of [SendScope], so that an operation which the transport does
 * not have does not compile. No class implements it. IBA volume 1, table 46 lists the operations of each transport.
 */
public sealed interface Verbs

/** Messages over a connection, without an address: RC and UC. */
public sealed interface ConnectedVerbs : Verbs

/** Writes into the peer's memory, and memory windows: RC and UC. */
public sealed interface WriteVerbs : Verbs

/** Reads, atomics and the invalidation of the peer's keys: RC. */
public sealed interface ReadVerbs : Verbs

/** Messages with an address: UD. */
public sealed interface DatagramVerbs : Verbs

/** The operations of a reliable connection. */
public sealed interface RcVerbs :
    ConnectedVerbs,
    WriteVerbs,
    ReadVerbs

/** The operations of an unreliable connection. */
public sealed interface UcVerbs :
    ConnectedVerbs,
    WriteVerbs

/** The operations of unreliable datagrams. */
public sealed interface UdVerbs : DatagramVerbs

/**
 * All operations, for a queue pair whose type is not known at compile time. The device refuses those that the type does
 * not have.
 */
public sealed interface AnyVerbs :
    RcVerbs,
    UdVerbs
