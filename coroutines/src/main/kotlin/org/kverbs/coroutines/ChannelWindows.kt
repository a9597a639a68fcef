package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
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
 * Memory windows of a channel's queue pair: by a window of type 2 the peer of that queue pair alone reaches memory, in
 * a domain that other peers' queue pairs are in, too. Windows are used again. Any thread.
 */
internal class ChannelWindows(
    dispatcher: CompletionDispatcher,
    private val queuePair: QueuePair,
    polled: PolledQueue,
    capacity: Int,
    private val failures: Failures,
) : RequestSide(dispatcher, polled, capacity),
    AutoCloseable {
    /** A window that is bound, or soon is. Its close ends the peer's access at once; a second one does nothing. */
    inner class Bound(
        val window: MemoryWindow,
        val remote: RemoteMemory,
        private val onGone: (Bound) -> Unit,
    ) : AutoCloseable {
        override fun close() {
            close(window)
            onGone(this)
        }

        /** It is free for other memory, unless it was closed meanwhile. */
        fun free() {
            synchronized(idle) { if (window.isOpen) idle.add(window) }
            onGone(this)
        }
    }

    private val pd = queuePair.protectionDomain()
    private val credits = Credits(capacity)

    /** Made when the first window is: most channels need none. */
    private val requests by lazy(LazyThreadSafetyMode.NONE) { SendRequests() }

    /** What follows each request that is under way; guarded by itself. */
    private val then = arrayOfNulls<(Throwable?) -> Unit>(capacity)

    /** Windows that are bound to nothing; guarded by itself, as are [all]. */
    private val idle = ArrayList<MemoryWindow>(0)
    private val all = ArrayList<MemoryWindow>(0)

    init {
        begin()
    }

    /**
     * Binds a window to memory of this domain, and suspends until the peer can be told of it. A caller that is
     * cancelled does not wait for a request that is under way, which the memory has to outlive.
     *
     * @param begun told of the window before it is bound
     * @param gone told of it when it is bound to nothing any more
     * @param unused called if this throws, when no window is bound to the memory; that may be later
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
            return suspendCancellableCoroutine { continuation ->
                val bound = reserve(memory, gone)
                begun(bound)
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

    /** The caller has a credit, which is given back if this throws. */
    private fun reserve(
        memory: MemorySlice,
        gone: (Bound) -> Unit,
    ): Bound {
        try {
            val window = synchronized(idle) { idle.removeLastOrNull() } ?: newWindow()
            return Bound(window, window.remote(memory, MemoryWindow.nextRkey(window.rkey())), gone)
        } catch (e: RuntimeException) {
            credits.release(1)
            throw e
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

    /** Forgets the window behind its close, which that of all waits for. */
    private fun close(window: MemoryWindow) {
        window.close()
        synchronized(idle) {
            all.remove(window)
            idle.remove(window)
        }
    }

    /** Ends the peer's access; [ended] is called when it has none any more. */
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
        } catch (_: RuntimeException) {
            // the queue pair takes no requests any more
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

    /** The caller has a credit; it is given back if the request is refused. */
    private fun post(
        next: (Throwable?) -> Unit,
        write: (Long) -> Unit,
    ) {
        var posted = false
        try {
            synchronized(lock) {
                checkNotEnded()
                val index = synchronized(then) { then.indexOfFirst { it == null }.also { then[it] = next } }
                try {
                    requests.clear()
                    write(id(index))
                    queuePair.post(requests)
                    posted = true
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
     * Closes all windows, when the queue pair is in the error state, and before it is closed, as IBA volume 1, 10.6.7
     * wants it.
     */
    override fun close() {
        val left =
            synchronized(idle) {
                idle.clear()
                all.toList().also { all.clear() }
            }
        left.forEach(MemoryWindow::close)
    }
}
