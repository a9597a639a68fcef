package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.DelicateCoroutinesApi
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.InternalForInheritanceCoroutinesApi
import kotlinx.coroutines.channels.ChannelIterator
import kotlinx.coroutines.channels.ChannelResult
import kotlinx.coroutines.channels.ClosedReceiveChannelException
import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.selects.SelectClause1
import kotlinx.coroutines.selects.SelectInstance

/**
 * Receives the messages of a channel as a [ReceiveChannel]: `for`, `select`, `tryReceive`, `consumeEach`,
 * `receiveAsFlow`. Closes without a cause when the peer has sent its last message, and with an exception if the peer
 * closes the channel or the channel fails. Several receivers share the messages: each message goes to the receiver that
 * has waited longest. A receiver that is cancelled while it waits takes no message; a channel of kotlinx.coroutines can
 * lose one then. With `withTimeout`, use the message inside the block: the block's result is lost if the time ends at
 * that moment.
 *
 * [cancel] drops the messages that have arrived and those still to come, so that the peer's senders do not wait; the
 * other direction stays open.
 */
@OptIn(InternalCoroutinesApi::class, InternalForInheritanceCoroutinesApi::class)
public class IncomingMessages internal constructor(
    private val inbox: ChannelInbox,
) : ReceiveChannel<ByteArray> {
    // A class of its own for two reasons: a channel of kotlinx.coroutines hands a message over before the receiver
    // runs, so that a cancellation can lose it; and a credit must go back to the peer when a message is taken.

    private class Selecting(
        val select: SelectInstance<*>,
        val clause: Any,
    ) : ChannelInbox.Receiver {
        override fun wake() = select.trySelect(clause, this)
    }

    /** True if no message will come any more, and all that arrived were received. */
    @DelicateCoroutinesApi
    override val isClosedForReceive: Boolean get() = inbox.isAtEnd

    /** True if a receiver has to wait now. */
    @ExperimentalCoroutinesApi
    override val isEmpty: Boolean get() = !inbox.hasMessage && !inbox.isAtEnd

    /**
     * Suspends until a message comes.
     *
     * @throws ClosedReceiveChannelException if the peer has sent its last message
     */
    override suspend fun receive(): ByteArray = inbox.take()?.bytes ?: throw inbox.cause?.calledHere() ?: noMore()

    /** Suspends until a message comes. Returns the end of the messages and a failure as results, not as exceptions. */
    override suspend fun receiveCatching(): ChannelResult<ByteArray> =
        inbox.take()?.bytes?.let { ChannelResult.success(it) } ?: ChannelResult.closed(inbox.cause?.calledHere())

    /** Takes a message that has arrived; does not wait. */
    override fun tryReceive(): ChannelResult<ByteArray> {
        val taken = inbox.tryTake()
        return if (taken == null && !inbox.isAtEnd) ChannelResult.failure() else result(taken)
    }

    /**
     * Receives a message in a `select`. Unlike those of [receive], its exceptions name the caller only in the debug
     * mode of kotlinx.coroutines.
     */
    override val onReceive: SelectClause1<ByteArray> get() =
        clause { it?.bytes ?: throw inbox.cause?.calledBy(null) ?: noMore() }

    /**
     * Receives a message in a `select`. Returns the end of the messages and a failure as results, not as exceptions.
     */
    override val onReceiveCatching: SelectClause1<ChannelResult<ByteArray>> get() = clause { result(it) }

    private fun <T> clause(outcome: (ChannelArrival?) -> T): SelectClause1<T> =
        SelectClauses.of(
            this,
            { clause, select, _ -> enlist(Selecting(select, clause)) },
            { _, _, selecting -> outcome(inbox.takeAs(selecting as Selecting)) },
            { _, _, selecting -> { _, _, _ -> inbox.release(selecting as Selecting) } },
        )

    private fun enlist(selecting: Selecting) {
        if (inbox.enlist(selecting)) {
            selecting.select.selectInRegistrationPhase(selecting)
        } else {
            selecting.select.disposeOnCompletion { inbox.forget(selecting) }
        }
    }

    /** Iterates in a `for` loop: ends after the peer's last message, and throws if the channel fails. */
    override fun iterator(): ChannelIterator<ByteArray> =
        object : ChannelIterator<ByteArray> {
            private var message: ByteArray? = null

            override suspend fun hasNext(): Boolean {
                if (message == null) message = inbox.take()?.bytes ?: inbox.cause?.let { throw it.calledHere() }
                return message != null
            }

            override fun next(): ByteArray =
                checkNotNull(message) { "next() has no message: call hasNext() before each next()" }.also {
                    message =
                        null
                }
        }

    /** Drops the messages that have arrived and those still to come; the other direction stays open. */
    override fun cancel(cause: CancellationException?): Unit =
        inbox.drop(cause ?: CancellationException("the incoming messages were cancelled"))

    @Deprecated("Since kotlinx.coroutines 1.2", level = DeprecationLevel.HIDDEN)
    override fun cancel(cause: Throwable?): Boolean {
        cancel(CancellationException("the incoming messages were cancelled", cause))
        return true
    }

    private fun noMore() = ClosedReceiveChannelException("the peer has sent its last message")

    private fun result(taken: ChannelArrival?): ChannelResult<ByteArray> =
        taken?.bytes?.let { ChannelResult.success(it) } ?: ChannelResult.closed(inbox.cause?.calledBy(null))
}
