package org.kverbs.dsl

/**
 * A set of operations as a type. It is the type argument of [SendScope], so that an operation which the transport does
 * not have does not compile. No class implements it. IBA volume 1, table 46 lists the operations of each transport.
 */
public sealed interface Verbs

/** Receives of the queue pair's own or of a basic shared queue: RC, UC and UD. */
public sealed interface ReceiveVerbs : Verbs

/** Messages over a connection, without an address: RC and UC. */
public sealed interface ConnectedVerbs : ReceiveVerbs

/** Memory windows, which are bound and invalidated on this side: RC, UC and XRC. */
public sealed interface WindowVerbs : Verbs

/** Requests that wait for earlier reads and atomics: RC and XRC. */
public sealed interface FenceVerbs : Verbs

/** Writes into the peer's memory: RC and UC. */
public sealed interface WriteVerbs : WindowVerbs

/** Reads, atomics and the invalidation of the peer's keys: RC. */
public sealed interface ReadVerbs : FenceVerbs

/** Messages with an address: UD. */
public sealed interface DatagramVerbs : ReceiveVerbs

/** Messages, writes, reads and atomics that name a shared receive queue of the peer: XRC. */
public sealed interface SharedQueueVerbs :
    WindowVerbs,
    FenceVerbs

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

/** The operations of the sending end of an extended reliable connection. */
public sealed interface XrcVerbs : SharedQueueVerbs

/**
 * All operations, for a queue pair whose type is not known at compile time. The device refuses those that the type does
 * not have.
 */
public sealed interface AnyVerbs :
    RcVerbs,
    UdVerbs,
    XrcVerbs
