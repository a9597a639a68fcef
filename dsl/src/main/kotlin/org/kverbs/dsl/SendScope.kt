package org.kverbs.dsl

import org.kverbs.AddressHandle
import org.kverbs.MemorySlice
import org.kverbs.SendRequests
import org.kverbs.internal.WorkRequestArena

/**
 * The scope of `qp.post { ... }`. An operation such as [send] or [write] adds a request to the list and returns it;
 * [signaled], [solicited], [fence] and [and] change the request that they are called on:
 * `write(local, to = remote).signaled()`. [V] is the set of operations of the queue pair's transport. The scope costs
 * nothing: at run time it is the list of requests itself, so it must not leave the block.
 */
@RdmaDsl
@JvmInline
public value class SendScope<out V : Verbs>
    @PublishedApi
    internal constructor(
        /** The list that is being written. */
        public val requests: SendRequests,
    ) {
        /**
         * Makes the request's success a completion. A failure always is one.
         *
         * @throws IllegalStateException if the request is of another post
         */
        public fun <R : Verbs> SendRequest<R>.signaled(): SendRequest<R> = also { arena().signal(it.ticket) }

        /**
         * Raises an event at a peer that armed for solicited messages only.
         *
         * @throws IllegalStateException if the request is of another post
         */
        public fun <R : Verbs> SendRequest<R>.solicited(): SendRequest<R> = also { arena().solicit(it.ticket) }

        /**
         * Starts the request only when all reads and atomics before it are done.
         *
         * @throws IllegalStateException if the request is of another post
         */
        public fun <R : FenceVerbs> SendRequest<R>.fence(): SendRequest<R> = also { arena().fence(it.ticket) }

        /**
         * Adds a second or further buffer to the request; the device gathers or fills the buffers in order. In a write
         * or read the peer's memory goes on behind that of the buffers before. It is not compared with the length of
         * the `RemoteMemory`, as that of the first buffer is: only the peer's device checks that its region has room.
         *
         * @throws IllegalStateException if the block has begun another request since, or if the request is of another
         *   post: call it before the next operation
         */
        public fun <R : Verbs> SendRequest<R>.and(buffer: MemorySlice): SendRequest<R> {
            arena().requireLast(ticket)
            requests.from(buffer)
            return this
        }

        /**
         * Names the peer of a request that needs one, whatever its operation: for a queue pair of a driver, such as SRD
         * of EFA, where `qp.post { write(local, to = remote).toPeer(destination) }` reaches any peer.
         *
         * @throws IllegalStateException as [and]
         */
        public fun SendRequest<AnyVerbs>.toPeer(destination: Destination): SendRequest<AnyVerbs> {
            arena().requireLast(ticket)
            requests.to(destination.address, destination.queuePairNumber, destination.qkey)
            return this
        }

        /**
         * Names the DC target of a request of an mlx5 initiator, by the path to it, its number and its access key of 64
         * bits.
         *
         * @throws IllegalStateException as [and]
         */
        public fun SendRequest<AnyVerbs>.toTarget(
            path: AddressHandle,
            number: Int,
            accessKey: Long,
        ): SendRequest<AnyVerbs> {
            arena().requireLast(ticket)
            requests.to(path, number, accessKey)
            return this
        }

        private fun arena() = WorkRequestArena.DOOR.of(requests)
    }
