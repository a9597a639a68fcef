package org.kverbs.serialization

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.launch
import org.kverbs.RdmaException
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong
import kotlin.time.Duration
import kotlin.time.TimeSource

/**
 * Makes the requests of this side. A request keeps its id and its permit until the peer has ended it, even if its
 * caller is cancelled: a late answer is still recognised, and the peer never has more requests than it takes.
 */
internal class Caller(
    private val background: CoroutineScope,
    private val maxInFlight: Int,
    private val send: suspend (Frame) -> Unit,
) {
    private val lastId = AtomicLong()
    private val pending = ConcurrentHashMap<Long, PendingCall>()
    private val permits: Channel<Unit> = Channel(maxInFlight, onUndeliveredElement = { release() })

    @Volatile
    private var ended: ((PendingCall) -> Exception)? = null

    /** Allows the number of requests at a time that the peer takes. */
    fun allow(count: Int): Unit = repeat(minOf(count, maxInFlight)) { release() }

    private fun release() {
        permits.trySend(Unit)
    }

    /** Begins a request; suspends until the peer takes another one. */
    suspend fun open(
        method: String,
        credits: Int,
        payload: ByteArray,
        timeout: Duration,
    ): PendingCall {
        val began = TimeSource.Monotonic.markNow()
        permits.receiveCatching()
        val call = PendingCall(lastId.incrementAndGet(), method, timeout, credits > 0, credits.coerceAtLeast(1))
        ended?.let { throw it(call) }
        pending[call.id] = call
        call.sending =
            background.launch(start = CoroutineStart.UNDISPATCHED) {
                try {
                    send(Frame.Request(call.id, method, timeout - began.elapsedNow(), credits, payload))
                } catch (e: IllegalArgumentException) {
                    end(call) { IllegalArgumentException("the request for \"$method\" can't be sent: ${e.message}", e) }
                } catch (e: RdmaException) {
                    end(call) { RequestsEndedException(method, e) }
                }
            }
        ended?.let { end(call, it) } // the end of the connection can have missed this call
        return call
    }

    /** Gives up a call whose caller no longer waits: tells the peer, unless the peer has ended it. */
    fun giveUp(call: PendingCall) {
        call.giveUp()
        if (!pending.containsKey(call.id)) return
        background.launch {
            call.sending.join()
            if (pending.containsKey(call.id)) quietly { send(Frame.Cancel(call.id)) }
        }
    }

    /** Lets the peer send more items of a stream. */
    suspend fun credit(
        call: PendingCall,
        count: Int,
    ) {
        if (pending.containsKey(call.id)) quietly { send(Frame.Credit(call.id, count)) }
    }

    fun take(frame: Frame.Answer) {
        val call = known(frame.id)
        call.add(frame.payload, item = false)
        end(call)
    }

    fun take(frame: Frame.Item): Unit = known(frame.id).add(frame.payload, item = true)

    fun take(frame: Frame.End) {
        val call = known(frame.id)
        if (!call.isStream) throw RequestProtocolException("the peer ended \"${call.method}\" without an answer")
        end(call)
    }

    fun take(frame: Frame.Failure): Unit = end(known(frame.id)) { it.failure(frame) }

    private fun known(id: Long) =
        pending[id]
            ?: throw RequestProtocolException("the peer answered request $id, which is not under way")

    private fun end(
        call: PendingCall,
        why: ((PendingCall) -> Exception)? = null,
    ) {
        // Only one of the reader, the sender and the end of the connection gives the permit back.
        if (pending.remove(call.id) == null) return
        call.end(why)
        release()
    }

    /** Ends all calls, as no more answers come; [why] creates the failure of each waiting and each later call. */
    fun end(why: (PendingCall) -> Exception) {
        ended = why
        permits.close()
        pending.values.forEach { end(it, why) }
    }
}

private fun PendingCall.failure(frame: Frame.Failure): Exception =
    when (frame.kind) {
        Frame.Failure.Kind.FAILED -> RemoteFailureException(method, frame.message, frame.remoteClass)
        Frame.Failure.Kind.TIMED_OUT -> late()
        Frame.Failure.Kind.CANCELLED -> RemoteFailureException(method, frame.message, frame.remoteClass)
    }

/** Sends a frame and ignores a failure of the connection: the reader notices it, too, and ends all calls. */
internal suspend fun quietly(send: suspend () -> Unit) {
    try {
        send()
    } catch (_: RdmaException) {
    }
}
