package org.kverbs.management.agent

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.launch
import org.kverbs.management.MadLayout
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.MADStatusInvalidField
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.Notice
import org.kverbs.management.structures.NoticeSMP
import org.kverbs.management.transaction.MadFields
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.management.transaction.RequestSink
import org.kverbs.management.transport.MadTransportException
import org.kverbs.management.transport.ServedClass
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.Semaphore

private const val MOST_AT_ONCE = 256
private const val MOST_NOTICES = 1024
private const val REMEMBERED = 256
private const val NOTICE = 2

/** How long a sender repeats a notice that it has not seen confirmed. */
private const val REPEATED_NANOS = 60_000_000_000L

/**
 * The server side of a transactor: gives requests to the handlers of their classes, and traps to their collectors.
 *
 * At most [MOST_AT_ONCE] requests of a class are being answered; further ones are dropped, and their senders ask again. A
 * request that comes again while it is being answered is dropped, too. A class whose handlers hang takes nothing from the
 * others.
 */
internal class Agent(
    private val transactor: MadTransactor,
) : RequestSink {
    private val scope = CoroutineScope(transactor.context + SupervisorJob(transactor.context[Job]))
    private val handlers = ConcurrentHashMap<Served, Service>()
    private val watchers = CopyOnWriteArrayList<Watcher>()
    private val running = ConcurrentHashMap.newKeySet<RequestKey>()

    @Volatile
    private var isClosed = false

    private data class RequestKey(
        val mgmtClass: Int,
        val method: Int,
        val transaction: Long,
        val from: MadPath,
    )

    /** A method of a class and, if it has vendors, of one of them; 0 is any. */
    private data class Served(
        val mgmtClass: Int,
        val vendor: Int,
        val method: Int,
    )

    /** What serves a class, and how many requests more it takes now. */
    private class Service(
        val handler: RequestHandler,
    ) {
        val free = Semaphore(MOST_AT_ONCE)
    }

    /** A collector of traps, or of reports. */
    private class Watcher(
        val methods: Set<Method>,
    ) {
        val queue = Channel<ReceivedNotice>(MOST_NOTICES)
        private val noticed =
            object : LinkedHashMap<RequestKey, Long>() {
                override fun removeEldestEntry(eldest: Map.Entry<RequestKey, Long>) = size > REMEMBERED
            }

        /** Returns whether the collector has it, now or since it came first; false if too many wait for it. */
        @Synchronized
        fun take(
            key: RequestKey,
            notice: ReceivedNotice,
        ): Boolean {
            val now = System.nanoTime()
            // A sender that starts anew takes its numbers again: later it is another notice.
            if (noticed[key]?.let { now - it < REPEATED_NANOS } == true) return true
            val result = queue.trySend(notice)
            if (result.isSuccess) noticed[key] = now
            return result.isSuccess || result.isClosed
        }
    }

    fun serve(
        service: ServedClass,
        handler: RequestHandler,
    ): AutoCloseable {
        check(!isClosed) { "the fabric is closed" }
        val served = service.methods.map { Served(service.mgmtClass.value, service.vendor, it.value) }
        val serving = Service(handler)
        synchronized(handlers) {
            check(served.none(handlers::containsKey)) {
                "the class ${service.mgmtClass} is served already; close what serves it first"
            }
            served.forEach { handlers[it] = serving }
        }
        var registration: AutoCloseable? = null
        try {
            registration = transactor.serve(service)
        } finally {
            if (registration == null) served.forEach { handlers.remove(it, serving) }
        }
        return AutoCloseable {
            served.forEach { handlers.remove(it, serving) }
            registration.close()
        }
    }

    private fun serviceOf(mad: ByteArray): Service? {
        val mgmtClass = MadFields.mgmtClass(mad)
        val method = MadFields.method(mad)
        return handlers[Served(mgmtClass, MadFields.vendor(mad), method)] ?: handlers[Served(mgmtClass, 0, method)]
    }

    /** Each collector has its own queue, which begins with [started]. */
    fun notices(
        service: ServedClass,
        started: suspend () -> Unit = {},
    ): Flow<ReceivedNotice> =
        flow {
            val watcher = Watcher(service.methods)
            val registration = if (isClosed) null else transactor.serve(service)
            watchers += watcher
            try {
                if (isClosed) watcher.queue.close()
                started()
                for (notice in watcher.queue) emit(notice)
            } finally {
                watchers -= watcher
                registration?.close()
            }
        }

    /** Who collects a datagram: traps and reports are for different collectors. */
    private fun watchersOf(mad: ByteArray): List<Watcher> {
        if (MadFields.attribute(mad) != NOTICE) return emptyList()
        val method = Method.of(MadFields.method(mad))
        if (method != Method.TRAP && method != Method.REPORT) return emptyList()
        return watchers.filter { method in it.methods }
    }

    override fun isServed(mad: ByteArray): Boolean =
        !isClosed && (serviceOf(mad) != null || watchersOf(mad).isNotEmpty())

    override fun take(
        mad: ByteArray,
        back: MadPath,
    ) {
        val key = RequestKey(MadFields.mgmtClass(mad), MadFields.method(mad), MADHeader.at(mad).transactionID, back)
        val service = serviceOf(mad)
        val watching = watchersOf(mad)
        when {
            watching.isNotEmpty() -> {
                notice(mad, back, key, watching)
            }

            service == null || !running.add(key) -> {
                return
            }

            service.free.tryAcquire() -> {
                scope
                    .launch { handle(service.handler, ReceivedRequest(mad, back) { transactor.post(it, back) }) }
                    .invokeOnCompletion {
                        running.remove(key)
                        service.free.release()
                    }
            }

            else -> {
                running.remove(key)
            }
        }
    }

    private suspend fun handle(
        handler: RequestHandler,
        request: ReceivedRequest,
    ) {
        try {
            handler.handle(request)
        } catch (_: IllegalArgumentException) {
            // What the request holds can't be read.
            if (!request.hasAnswer) request.refuse(MADStatusInvalidField.INVALID_ATTRIBUTE_OR_MODIFIER)
        } catch (e: Exception) {
            // A handler's own time that is over is its failure, and not the end of the fabric.
            if (e is CancellationException) currentCoroutineContext().ensureActive()
            val thread = Thread.currentThread()
            thread.uncaughtExceptionHandler.uncaughtException(thread, e)
        }
    }

    private fun notice(
        mad: ByteArray,
        back: MadPath,
        key: RequestKey,
        watching: List<Watcher>,
    ) {
        // Nobody can be given the notice of a class that has no known layout, so nobody confirms it.
        val at = MadLayout.dataAt(key.mgmtClass, NOTICE) ?: return
        if (at + NoticeSMP.byteSize > mad.size) return
        val bytes = mad.copyOfRange(at, minOf(mad.size, at + sizeIn(key.mgmtClass))).copyOf(Notice.byteSize)
        val received = ReceivedNotice(Notice.of(bytes), ManagementClass.of(key.mgmtClass), back)
        // Without a confirmation the sender repeats it, for the collectors that had no room.
        if (!watching.map { it.take(key, received) }.all { it }) return
        val isTrap = key.method == Method.TRAP.value
        val answer = mad.copyOf()
        MADHeader.at(answer).method = if (isTrap) Method.TRAP_REPRESS else REPORT_RESP
        try {
            transactor.post(answer, back)
        } catch (_: MadTransportException) {
            // The sender repeats it.
        } catch (_: IllegalStateException) {
            // The fabric is closed.
        }
    }

    private fun sizeIn(mgmtClass: Int) =
        if (mgmtClass == ManagementClass.SUBN_LID_ROUTED.value) NoticeSMP.byteSize else Notice.byteSize

    override fun close() {
        isClosed = true
        watchers.forEach { it.queue.close() }
        handlers.clear()
        scope.cancel()
    }

    private companion object {
        private val REPORT_RESP = Method.of(0x86)
    }
}
