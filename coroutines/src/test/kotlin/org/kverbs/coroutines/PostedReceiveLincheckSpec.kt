package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.suspendCancellableCoroutine
import org.jetbrains.lincheck.datastructures.Operation
import kotlin.coroutines.resume

private const val CANCELLED = "cancelled by its owner"

/** The results that both the posted receive and its model tell. */
private const val NO_MESSAGE = -1L

/**
 * A posted receive with a request of its own, whose message comes once, and the next receive of its queue, which gets
 * the message if the first one does not take it.
 */
open class OnePostedReceive {
    private val slots = ReceiveSlots(1, Failures(), ReceiveStage { Completions.memory.region() })
    private val pin = Pin().apply { pin() }
    private val receive = PostedReceive(Completions.memory, pin, slots)
    private val slot = checkNotNull(slots.put(receive))
    private val polling = Any()
    private val leaving = Any()

    protected suspend fun awaitIt(): Long =
        try {
            receive.await().length
        } catch (e: CancellationException) {
            if (e.message == CANCELLED) NO_MESSAGE else throw e
        }

    /** One thread at a time takes completions. */
    protected fun deliver(): Unit = synchronized(polling) { slots.complete(slot.index, Completions.all[0]) }

    /**
     * If a message comes meanwhile, it is back for the next receive when the cancellation has returned, which can be
     * after the return of the thread that takes the completion. So no [takeLeft] runs beside it.
     */
    protected fun cancelIt(): Unit = synchronized(leaving) { receive.cancel(CancellationException(CANCELLED)) }

    /** Has a [WholeReceive] take its place. */
    protected fun look(): String =
        receive.invokeOnCompletion { }.let { if (receive.isCancelled) CANCELLED else "${receive.isCompleted}" }

    /** Receives as the next receive of the queue does; true if it gets the message that the first one has left. */
    protected fun takeLeft(): Boolean =
        synchronized(leaving) {
            val next = PostedReceive(Completions.memory, null, slots)
            slots.tryJoin(next, 1)
            next.cancel() // it can have joined the request of the first one, whose message has yet to come
            !next.isCancelled
        }
}

/** The class that Lincheck creates many times and runs with several threads. */
class PostedReceiveUnderLincheck : OnePostedReceive() {
    @Operation
    suspend fun await(): Long = awaitIt()

    @Operation
    fun complete(): Unit = deliver()

    @Operation
    fun cancel(): Unit = cancelIt()

    @Operation
    fun state(): String = look()

    @Operation
    fun next(): Boolean = takeLeft()
}

/** A simple model of a posted receive for one thread. */
class PostedReceiveInWords {
    private val waiting = ArrayDeque<CancellableContinuation<Long>>()
    private var end: Long? = null
    private var hasCome = false
    private var isLeft = false

    suspend fun await(): Long = end ?: suspendCancellableCoroutine { waiting.addLast(it) }

    fun complete() {
        if (hasCome) return
        hasCome = true
        if (end == null) endWith(1) else isLeft = true
    }

    fun cancel() {
        if (end == null) endWith(NO_MESSAGE)
    }

    fun state(): String = if (end == NO_MESSAGE) CANCELLED else "${end != null}"

    fun next(): Boolean = isLeft.also { isLeft = false }

    private fun endWith(length: Long) {
        end = length
        for (waiter in waiting) if (waiter.isActive) waiter.resume(length)
        waiting.clear()
    }
}

/** Compares a posted receive, and what becomes of its message, with a model, for all orders of its calls. */
class PostedReceiveLincheckSpec :
    FunSpec({
        timeout = 1_200_000

        beforeSpec { Completions.all }

        test("should end as one thread would see it, in every order of steps that model checking tries") {
            checkOrders(PostedReceiveUnderLincheck::class, PostedReceiveInWords::class)
        }

        test("should end as one thread would see it, under stress") {
            checkUnderStress(PostedReceiveUnderLincheck::class, PostedReceiveInWords::class)
        }
    })
