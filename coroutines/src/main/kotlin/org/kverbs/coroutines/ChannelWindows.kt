package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import org.kverbs.MemorySlice
import org.kverbs.MemoryWindow
import org.kverbs.QueuePair
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode
import org.kverbs.attributes.MemoryWindowType
import kotlin.coroutines.resume

/**
 * Manages the memory windows of a channel's queue pair. Through a type 2 window only the peer of this queue pair
 * reaches the memory, although the queue pairs of other peers are in the same domain. Windows are reused. Any thread
 * can call.
 */
internal class ChannelWindows(
    dispatcher: CompletionDispatcher,
    private val queuePair: QueuePair,
    polled: PolledQueue,
    capacity: Int,
    private val failures: Failures,
) : RequestSide(dispatcher, polled, capacity),
    AutoCloseable {
    /**
     * A window that is bound or is being bound. [close] ends the peer's access at once; a second call does nothing.
     */
    inner class Bound(
        val window: MemoryWindow,
        val remote: RemoteMemory,
        private val onGone: (Bound) -> Unit,
    ) : AutoCloseable {
        override fun close() {
            close(window)
            onGone(this)
        }

        /** Frees the window for other memory, unless it was closed meanwhile. */
        fun free() {
            synchronized(idle) { if (window.isOpen) idle.add(window) }
            onGone(this)
        }
    }

    private val pd = queuePair.protectionDomain()
    private val credits = Credits(capacity)

    /** Created with the first window: most channels need none. */
    private val requests by lazy(LazyThreadSafetyMode.NONE) { SendRequests() }

    /** The continuation of each request under way; its own lock guards it. */
    private val then = arrayOfNulls<(Throwable?) -> Unit>(capacity)

    /** The windows that are not bound; its lock guards [all], too. */
    private val idle = ArrayList<MemoryWindow>(0)
    private val all = ArrayList<MemoryWindow>(0)

    init {
        begin()
    }

    /**
     * Binds a window to memory of this domain, and suspends until the peer can use it. A cancelled caller does not wait
     * for the request under way, but the memory must outlive that request.
     *
     * @param begun called with the window before it is bound
     * @param gone called with the window when it is no longer bound
     * @param unused called if this throws, as soon as no window is bound to the memory; that can be later
     */
    suspend fun bind(
        memory: MemorySlice,
        access: Int,
        begun: (Bound) -> Unit,
        gone: (Bound) -> Unit,
        unused: () -> Unit,
    ): Bound {
        var isPosted = false
        try {
            credits.acquire(1)
            return suspendToPost { continuation ->
                val bound = reserve(memory, begun, gone)
                try {
                    post({ onBound(bound, it, continuation, unused) }) { id ->
                        requests.bind(id, bound.window, bound.remote.rkey(), memory, access).signaled()
                    }
                    isPosted = true
                } finally {
                    if (!isPosted) bound.close()
                }
            }
        } finally {
            if (!isPosted) unused()
        }
    }

    /** Takes a window. The caller holds a credit, which is given back if this throws. */
    private fun reserve(
        memory: MemorySlice,
        begun: (Bound) -> Unit,
        gone: (Bound) -> Unit,
    ): Bound {
        var bound: Bound? = null
        var isReserved = false
        try {
            val window = synchronized(idle) { idle.removeLastOrNull() } ?: newWindow()
            val made = Bound(window, window.remote(memory, MemoryWindow.nextRkey(window.rkey())), gone)
            bound = made
            begun(made)
            isReserved = true
            return made
        } finally {
            if (!isReserved) {
                try {
                    bound?.close()
                } finally {
                    credits.release(1)
                }
            }
        }
    }

    private fun onBound(
        bound: Bound,
        failure: Throwable?,
        binder: CancellableContinuation<Bound>,
        unused: () -> Unit,
    ) {
        if (failure == null) {
            val isWoken = waking { binder.resume(bound) { _, _, _ -> end(bound, unused) } }
            if (!isWoken) end(bound, unused)
        } else {
            binder.fail(failure)
            try {
                bound.close()
            } finally {
                unused()
            }
        }
    }

    private fun newWindow(): MemoryWindow =
        pd.memoryWindow(MemoryWindowType.TYPE_2).also {
            synchronized(idle) { all.add(it) }
        }

    /** Closes a window, and forgets it only afterwards: [close] of all windows waits for this close. */
    private fun close(window: MemoryWindow) {
        window.close()
        synchronized(idle) {
            all.remove(window)
            idle.remove(window)
        }
    }

    /** Ends the peer's access; calls [ended] when the access has ended. */
    fun end(
        bound: Bound,
        ended: () -> Unit,
    ) {
        try {
            if (bound.window.isOpen && credits.tryAcquire(1)) {
                post({ onInvalidated(bound, it, ended) }) { id ->
                    requests.localInvalidate(id, bound.remote.rkey()).signaled()
                }
                return
            }
        } catch (_: Throwable) {
            // The queue pair no longer takes requests, or an error kept the request back.
        }
        close(bound, ended)
    }

    private fun onInvalidated(
        bound: Bound,
        failure: Throwable?,
        ended: () -> Unit,
    ) {
        if (failure != null) return close(bound, ended)
        bound.free()
        ended()
    }

    private fun close(
        bound: Bound,
        ended: () -> Unit,
    ) {
        try {
            bound.close()
        } finally {
            ended()
        }
    }

    /**
     * Posts a request. The caller holds a credit, which is given back if the device refuses the request. An error
     * leaves it open whether the device has the request: no other one gets its number then, and the queue pair ends.
     */
    private fun post(
        next: (Throwable?) -> Unit,
        write: (Long) -> Unit,
    ) {
        var posted = false
        try {
            locked {
                checkNotEnded()
                val index = synchronized(then) { then.indexOfFirst { it == null }.also { then[it] = next } }
                try {
                    requests.clear()
                    write(id(index))
                    VectorRegisters.clearUpperHalves()
                    posted = true
                    try {
                        queuePair.post(requests)
                    } catch (e: RuntimeException) {
                        posted = false
                        throw e
                    } catch (e: Error) {
                        synchronized(then) { if (then[index] === next) then[index] = FORGOTTEN }
                        queuePair.breakUp()
                        throw e
                    }
                } finally {
                    if (!posted) synchronized(then) { then[index] = null }
                }
            }
        } finally {
            if (!posted) credits.release(1)
        }
    }

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        val failure = if (completion.isSuccess) null else failures.of(completion, WorkCompletionOpcode.BIND_MW.code())
        val next = synchronized(then) { then[request].also { then[request] = null } } ?: return
        credits.release(1)
        next(failure)
    }

    override fun failWaits(cause: Throwable) {
        val left = synchronized(then) { then.filterNotNull().also { then.fill(null) } }
        credits.fail(cause)
        left.forEach { waking { it(cause) } }
    }

    /**
     * Closes all windows. Call it when the queue pair is in the error state, before it is closed (IBA volume 1,
     * 10.6.7).
     */
    override fun close() {
        val left =
            synchronized(idle) {
                idle.clear()
                all.toList().also { all.clear() }
            }
        closeAll(*left.toTypedArray())
    }

    private companion object {
        /** What follows a request whose caller got an error. */
        val FORGOTTEN: (Throwable?) -> Unit = {}
    }
}
