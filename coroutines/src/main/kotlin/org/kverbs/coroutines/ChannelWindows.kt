package org.kverbs.coroutines

import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.AccessFlag
import org.kverbs.MemorySlice
import org.kverbs.MemoryWindow
import org.kverbs.MemoryWindowType
import org.kverbs.QueuePair
import org.kverbs.RemoteMemory
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException

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
    /** A window that is bound. */
    class Bound(
        val window: MemoryWindow,
        val remote: RemoteMemory,
    )

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

    /** Binds a window to memory of this domain, and suspends until the peer can be told of it. */
    suspend fun bind(
        memory: MemorySlice,
        vararg access: AccessFlag,
    ): Bound {
        credits.acquire(1)
        return suspendCancellableCoroutine { continuation ->
            val window =
                try {
                    synchronized(idle) { idle.removeLastOrNull() } ?: newWindow()
                } catch (e: RuntimeException) {
                    credits.release(1)
                    throw e
                }
            val rkey = MemoryWindow.nextRkey(window.rkey())
            val bound = Bound(window, window.remote(memory, rkey))
            try {
                post({ failure ->
                    if (failure == null) {
                        continuation.resume(bound) { _, _, _ -> end(bound) {} }
                    } else {
                        close(window)
                        continuation.resumeWithException(failure)
                    }
                }) { id -> requests.bind(id, window, rkey, memory, AccessFlag.mask(*access)).signaled() }
            } catch (e: RuntimeException) {
                close(window)
                throw e
            }
        }
    }

    private fun newWindow(): MemoryWindow =
        pd.memoryWindow(MemoryWindowType.TYPE_2).also {
            synchronized(idle) { all.add(it) }
        }

    /** Ends the peer's access at once. Nothing the second time. */
    fun close(bound: Bound): Unit = close(bound.window)

    private fun close(window: MemoryWindow) {
        synchronized(idle) { all.remove(window) }
        window.close()
    }

    /** Ends the peer's access; [ended] is called when it has none any more. */
    fun end(
        bound: Bound,
        ended: () -> Unit,
    ) {
        try {
            if (credits.tryAcquire(1)) {
                post({ failure ->
                    if (failure == null) synchronized(idle) { idle.add(bound.window) } else close(bound.window)
                    ended()
                }) { id -> requests.localInvalidate(id, bound.remote.rkey()).signaled() }
                return
            }
        } catch (_: RuntimeException) {
            // the queue pair takes no requests any more
        }
        close(bound.window)
        ended()
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
        left.forEach { it(cause) }
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
