package org.kverbs.cli.perf

import org.kverbs.Context
import org.kverbs.RdmaException
import org.kverbs.cli.pingpong.LOOPBACK
import org.kverbs.cli.pingpong.Peer
import org.kverbs.cli.pingpong.UnfitOptionException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException

/** Measures messages between two ends: one of them in this process, or both. */
internal class Perf(
    private val options: PerfOptions,
    private val listener: PerfListener,
) {
    /**
     * Runs the test; the listener gets its rows.
     *
     * @throws org.kverbs.cli.pingpong.UnfitOptionException if the device can't do what the options ask for
     * @throws PerfException if the peer can't be reached, is silent, dies, or has other options
     * @throws org.kverbs.DeviceNotFoundException if there is no such device
     * @throws RdmaException if a request of this end fails, as it does when the peer is gone
     */
    fun run() {
        val devices = PerfDevices.of(options)
        devices.near.open().use { near ->
            options.requireFit(near)
            when (val peer = options.peer) {
                is Peer.Own -> {
                    checkNotNull(devices.far).open().use { far ->
                        options.requireFit(far)
                        listener.opened(near)
                        listener.opened(far)
                        runBoth(near, far)
                    }
                }

                is Peer.Client -> {
                    listener.opened(near)
                    Wire.accept(peer, options.timeout) { listener.listening(it) }.use { run(near, it, leads = false) }
                }

                is Peer.Server -> {
                    listener.opened(near)
                    Wire.connect(peer, options.timeout).use { run(near, it, leads = true) }
                }
            }
        }
    }

    private fun run(
        device: Context,
        wire: Wire,
        leads: Boolean,
        to: PerfListener = listener,
    ) = PerfSide(device, options, wire, leads, to).run()

    /** The client's end on this thread, and the server's on another. They meet as two processes do. */
    private fun runBoth(
        near: Context,
        far: Context,
    ) {
        val port = CompletableFuture<Int>()
        val server = CompletableFuture<Unit>()
        val thread =
            Thread.ofPlatform().name("kverbs-perf-server").daemon().start {
                try {
                    Wire.accept(Peer.Client(0, LOOPBACK), options.timeout, port::complete).use {
                        run(far, it, leads = false, object : PerfListener {})
                    }
                    server.complete(Unit)
                } catch (e: Throwable) {
                    // An Error too, or else the other end would wait for ever.
                    port.completeExceptionally(e)
                    server.completeExceptionally(e)
                }
            }
        try {
            Wire.connect(Peer.Server(LOOPBACK, port.get()), options.timeout).use { run(near, it, leads = true) }
            server.get()
        } catch (e: PerfException) {
            // An end that fails closes the connection: the other's error is the reason.
            thread.join(LAST_WORDS_MILLIS)
            throw serverFailure(server) ?: e
        } catch (e: ExecutionException) {
            throw e.cause ?: e
        } finally {
            thread.interrupt()
            thread.join()
        }
    }

    private fun serverFailure(server: CompletableFuture<Unit>): Throwable? =
        if (server.isCompletedExceptionally) {
            server.exceptionNow().takeIf {
                it is RdmaException || it is UnfitOptionException || it is Error
            }
        } else {
            null
        }

    private companion object {
        const val LAST_WORDS_MILLIS = 2000L
    }
}
