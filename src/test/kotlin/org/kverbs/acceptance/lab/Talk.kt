package org.kverbs.acceptance.lab

import io.kotest.matchers.shouldBe
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.acceptance.contract.FULL_ACCESS
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import org.kverbs.coroutines.AsyncQueuePair
import org.kverbs.coroutines.ConnectionBuilder
import org.kverbs.coroutines.RdmaConnection
import org.kverbs.coroutines.RdmaDatagrams
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.RdmaMulticast
import org.kverbs.coroutines.Received
import org.kverbs.coroutines.acceptDatagrams
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.connectDatagrams
import org.kverbs.coroutines.joinMulticast
import org.kverbs.coroutines.postReceive
import org.kverbs.coroutines.rdmaHost
import org.kverbs.dsl.ReceiveVerbs
import org.kverbs.dsl.get
import java.net.InetAddress
import java.net.InetSocketAddress
import kotlin.time.Duration.Companion.seconds

/**
 * Plays the counterpart of a program of rdma-core with our coroutines, until both are done.
 *
 * @param device our device
 * @param program the program's name; the [role] here is the other one: `client` or `server`
 * @param address the server's address, on either side
 * @param listening is called when a client may connect
 */
internal fun talk(
    device: String,
    program: String,
    role: String,
    address: String,
    port: Int,
    listening: () -> Unit = {},
): Unit =
    runBlocking(Dispatchers.Default) {
        val part = checkNotNull(parts[program to role]) { "no part of a $role of $program" }
        rdmaHost { device(Device.byName(device)) }.use { host ->
            val server = InetSocketAddress(InetAddress.ofLiteral(address), port)
            val data = PYVERBS_DATA.takeIf { program.endsWith(OF_PYVERBS) }
            withTimeout(WHOLE_TALK) { Talk(host, server, data, listening).part() }
        }
    }

// The first talk runs cold code on an emulated machine.
private val WHOLE_TALK = 60.seconds
private val TALK_STEP = 30.seconds

/** How the names of the programs of Pyverbs end, and the private data that they give their peer. */
internal const val OF_PYVERBS = " of Pyverbs"
private const val PYVERBS_DATA = "from Pyverbs"
private const val OUR_DATA = "from kverbs"

/**
 * This side's end of a talk.
 *
 * @param data the private data that the peer gives, if the program gives any
 */
internal class Talk(
    val host: RdmaHost,
    val address: InetSocketAddress,
    private val data: String?,
    private val listening: () -> Unit,
) {
    /** The memory of this side's queue pair, made with its first receives. */
    lateinit var memory: MemoryRegion
        private set
    private lateinit var queuePair: AsyncQueuePair<ReceiveVerbs>
    private val waiting = ArrayDeque<Deferred<Received>>()

    /** Posts a receive; [received] waits for them in order. */
    fun postReceive(
        offset: Long,
        bytes: Long,
    ) {
        waiting += queuePair.postReceive(memory[offset, bytes])
    }

    suspend fun received(): Received = waiting.removeFirst().await()

    /** Returns the settings of this side's queue pair; [ready] posts its first receives. */
    private fun settings(ready: Talk.() -> Unit): ConnectionBuilder.() -> Unit =
        {
            timeout(TALK_STEP)
            parameters(ConnectionParameters.DEFAULTS.withReads(1, 1))
            privateData(OUR_DATA.encodeToByteArray())
            prepared {
                queuePair = it
                memory = it.queuePair.protectionDomain().memoryRegion(TALK_MEMORY, *FULL_ACCESS)
                ready()
            }
        }

    private fun checkData(said: ByteArray) {
        if (data != null) said.decodeToString().trimEnd('\u0000') shouldBe data
    }

    suspend fun connect(ready: Talk.() -> Unit): RdmaConnection =
        host.connect(address, settings(ready)).also { checkData(it.privateData) }

    suspend fun accept(ready: Talk.() -> Unit): RdmaConnection =
        host
            .listen(address)
            .use {
                listening()
                it.accept(settings(ready))
            }.also { checkData(it.privateData) }

    suspend fun connectDatagrams(ready: Talk.() -> Unit): RdmaDatagrams =
        host.connectDatagrams(address, settings(ready)).also { checkData(it.privateData) }

    suspend fun acceptDatagrams(ready: Talk.() -> Unit): RdmaDatagrams =
        host
            .listen(address, portSpace = PortSpace.UDP)
            .use {
                listening()
                it.awaitRequest().acceptDatagrams(settings(ready))
            }.also { checkData(it.privateData) }

    /** Joins the multicast group of the server's port at the server's address. */
    suspend fun join(ready: Talk.() -> Unit): RdmaMulticast {
        val group = InetAddress.ofLiteral("239.1.${address.port shr 8}.${address.port and 255}")
        return host.joinMulticast(group, address.address, settings = settings(ready)).also { listening() }
    }

    /** Rejects the first client. */
    suspend fun reject(reason: String) =
        host.listen(address).use {
            listening()
            it.awaitRequest().reject(reason.encodeToByteArray())
        }
}

private const val TALK_MEMORY = 1L shl 16
