package org.kverbs.management.rmpp

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.lid
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.RMPPFlag
import org.kverbs.management.structures.RMPPStatus
import org.kverbs.management.structures.SAFormat
import org.kverbs.management.transport.MadPort
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import org.kverbs.management.transport.MadTransportException
import org.kverbs.management.transport.ServedClass
import org.kverbs.structures.Lid
import java.nio.ByteBuffer
import kotlin.random.Random

/**
 * Two ports with LID 1 and LID 2 and the wire between them, in the time of [scope]. Each packet is lost, doubled or
 * late with a chance of one in [loss], [doubling] and [delaying]; 0 is never.
 */
internal class Wire(
    private val scope: CoroutineScope,
    private val random: Random = Random(1),
    private val loss: Int = 0,
    private val doubling: Int = 0,
    private val delaying: Int = 0,
) {
    private val ends = HashMap<Int, End>()
    val first = End(1)
    val second = End(2)
    val packets = mutableListOf<ByteArray>()

    inner class End(
        val number: Int,
    ) : MadTransport {
        private var receiver: MadReceiver? = null
        var isClosed = false

        /** What is served at this end, and the classes that another program serves. */
        val served = mutableListOf<ServedClass>()
        val taken = mutableListOf<ManagementClass>()

        init {
            ends[number] = this
        }

        override fun port() =
            MadPort(
                "simulated",
                NodeInfo(),
                PortInfo {
                    lid = Lid(number)
                    masterSMLID = Lid(2)
                },
            )

        override fun receive(receiver: MadReceiver) {
            this.receiver = receiver
        }

        override fun serve(service: ServedClass): AutoCloseable {
            if (service.mgmtClass in taken) throw MadTransportException("another program serves $service")
            served += service
            return AutoCloseable { served -= service }
        }

        override fun send(
            mad: ByteArray,
            path: MadPath,
        ) {
            check(!isClosed) { "closed" }
            val packet = mad.copyOf()
            packets += packet
            if (hits(loss)) return
            repeat(if (hits(doubling)) 2 else 1) {
                val late = if (hits(delaying)) random.nextInt(1, 400) else 1
                scope.launch {
                    delay(late.toLong())
                    ends[(path as LidPath).destination.value]?.deliver(packet.copyOf(), lid(number))
                }
            }
        }

        fun deliver(
            mad: ByteArray,
            back: MadPath,
        ) {
            if (!isClosed) receiver?.received(mad, back)
        }

        override fun close() {
            isClosed = true
        }
    }

    private fun hits(oneIn: Int) = oneIn > 0 && random.nextInt(oneIn) == 0
}

/** Keeps what arrives. */
internal class Inbox(
    private val isWanted: (ByteArray) -> Boolean = { true },
) : MadReceiver {
    val messages = mutableListOf<ByteArray>()
    val failures = mutableListOf<RMPPStatus>()
    var progress = 0

    override fun received(
        mad: ByteArray,
        back: MadPath?,
    ) {
        messages += mad
    }

    override fun undelivered(mad: ByteArray) = Unit

    override fun isWanted(
        mad: ByteArray,
        back: MadPath,
    ) = isWanted(mad)

    override fun progressed(mad: ByteArray) {
        progress++
    }

    override fun failed(
        mad: ByteArray,
        status: RMPPStatus,
    ) {
        failures += status
    }
}

/** A long message of subnet administration with [size] bytes of data. */
internal fun longMessage(
    size: Int,
    id: Long = 7,
    method: Method = Method.GET_TABLE_RESP,
    random: Random = Random(size),
): ByteArray {
    val message = ByteArray(256).also { random.nextBytes(it) }.copyOf(56 + size)
    random.nextBytes(size).copyInto(message, 56)
    SAFormat.at(message.copyOf(256)).apply {
        madHeader.apply {
            baseVersion = 1
            mgmtClass = ManagementClass.SUBN_ADM
            classVersion = 2
            this.method = method
            status = 0
            transactionID = id
            attributeID = 0x11
        }
        rmppHeader.rmppFlags = RMPPFlag.ACTIVE
        bytes().copyInto(message, 0, 0, 56)
    }
    return message
}

/** A message without its RMPP header, which the packets have each their own of; quick to compare. */
internal fun ByteArray.withoutRmpp() = ByteBuffer.wrap(copyOf().also { it.fill(0, 24, 36) })
