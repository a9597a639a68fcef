package org.kverbs.embedded

import org.kverbs.attributes.AccessFlag
import org.kverbs.embedded.GuardedBench.Companion.ACK
import org.kverbs.embedded.GuardedBench.Companion.MTU
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_ACK
import org.kverbs.embedded.internal.wire.Opcode.RC_ATOMIC_WRITE
import org.kverbs.embedded.internal.wire.Opcode.RC_COMPARE_SWAP
import org.kverbs.embedded.internal.wire.Opcode.RC_FETCH_ADD
import org.kverbs.embedded.internal.wire.Opcode.RC_FLUSH
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_REQUEST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_FIRST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_MIDDLE
import org.kverbs.embedded.internal.wire.Opcode.RC_READ_RESPONSE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_FIRST
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_LAST_IMMEDIATE
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_LAST_INVALIDATE
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_MIDDLE
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_ONLY
import org.kverbs.embedded.internal.wire.Opcode.RC_SEND_ONLY_IMMEDIATE
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_FIRST
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_LAST
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_LAST_IMMEDIATE
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_MIDDLE
import org.kverbs.embedded.internal.wire.Opcode.RC_WRITE_ONLY
import org.kverbs.embedded.internal.wire.Opcode.UD_SEND_ONLY
import org.kverbs.embedded.internal.wire.Packet

/** Packets of a peer that a queue pair must refuse or drop. */
internal object WrongRequests {
    const val NAK_REMOTE_ACCESS = 0x62

    /** A flush of a range to global visibility. */
    private const val PLACEMENT = 0x01

    /** A packet of the peer. */
    class Step(
        val opcode: Int,
        val fill: Packet.() -> Unit,
    )

    /** Makes a packet of a send. */
    fun send(
        opcode: Int,
        bytes: Int,
    ): Step = Step(opcode) { payloadLength = bytes }

    /** Makes a packet of a write; [of] is the length of the whole. */
    fun write(
        opcode: Int,
        bytes: Int,
        of: Int = bytes,
    ): Step =
        Step(opcode) {
            payloadLength = bytes
            dmaLength = of
        }

    /** Makes a request of one packet for 8 bytes. */
    fun whole(
        opcode: Int,
        fill: Packet.() -> Unit = {},
    ): Step =
        Step(opcode) {
            dmaLength = 8
            placement = PLACEMENT
            payloadLength = if (Opcode.hasPayload(opcode)) 8 else 0
            fill()
        }

    /** The first packet of a send that goes on. */
    val firstSend: Step = send(RC_SEND_FIRST, MTU)

    /** The first packet of a write that goes on. */
    val firstWrite: Step = write(RC_WRITE_FIRST, MTU, of = 600)

    /** Messages whose last packet has a wrong length or kind (IBA volume 1, 9.7.4.1.2 to 9.7.4.1.7). */
    val wrongMessages: Map<String, List<Step>> =
        mapOf(
            "a first packet that is shorter than the path MTU" to listOf(send(RC_SEND_FIRST, MTU - 1)),
            "a first packet that is longer than the path MTU" to listOf(send(RC_SEND_FIRST, MTU + 1)),
            "an empty first packet" to listOf(send(RC_SEND_FIRST, 0)),
            "a middle packet that is shorter than the path MTU" to listOf(firstSend, send(RC_SEND_MIDDLE, MTU - 1)),
            "a middle packet that is longer than the path MTU" to listOf(firstSend, send(RC_SEND_MIDDLE, MTU + 1)),
            "an empty middle packet" to listOf(firstSend, send(RC_SEND_MIDDLE, 0)),
            "an empty last packet" to listOf(firstSend, send(RC_SEND_LAST, 0)),
            "a last packet that is longer than the path MTU" to listOf(firstSend, send(RC_SEND_LAST, MTU + 1)),
            "an empty last packet with immediate data" to listOf(firstSend, send(RC_SEND_LAST_IMMEDIATE, 0)),
            "an only packet that is longer than the path MTU" to listOf(send(RC_SEND_ONLY, MTU + 1)),
            "an only packet with immediate data that is too long" to listOf(send(RC_SEND_ONLY_IMMEDIATE, MTU + 1)),
            "an only packet with the longest payload that the wire has" to listOf(send(RC_SEND_ONLY, 4096)),
            "a middle packet where nothing was begun" to listOf(send(RC_SEND_MIDDLE, MTU)),
            "a last packet where nothing was begun" to listOf(send(RC_SEND_LAST, 10)),
            "a last packet with immediate data where nothing was begun" to listOf(send(RC_SEND_LAST_IMMEDIATE, 10)),
            "a last packet with an invalidation where nothing was begun" to listOf(send(RC_SEND_LAST_INVALIDATE, 10)),
            "a first packet within a message" to listOf(firstSend, firstSend),
            "an only packet within a message" to listOf(firstSend, send(RC_SEND_ONLY, 10)),
            "the middle of a write within a send" to listOf(firstSend, send(RC_WRITE_MIDDLE, MTU)),
            "the end of a write within a send" to listOf(firstSend, send(RC_WRITE_LAST, 10)),
            "a whole write within a send" to listOf(firstSend, write(RC_WRITE_ONLY, 10)),
            "a read within a send" to listOf(firstSend, whole(RC_READ_REQUEST)),
            "an atomic within a send" to listOf(firstSend, whole(RC_FETCH_ADD)),
            "a write's first packet that is shorter than the path MTU" to
                listOf(write(RC_WRITE_FIRST, MTU - 1, of = 600)),
            "a write's first packet that is longer than the path MTU" to
                listOf(write(RC_WRITE_FIRST, MTU + 1, of = 600)),
            "a write's middle packet where nothing was begun" to listOf(send(RC_WRITE_MIDDLE, MTU)),
            "a write's last packet where nothing was begun" to listOf(send(RC_WRITE_LAST, 10)),
            "a write's middle packet that is too short" to listOf(firstWrite, send(RC_WRITE_MIDDLE, MTU - 4)),
            "a write's middle packet that is too long" to listOf(firstWrite, send(RC_WRITE_MIDDLE, MTU + 4)),
            "the middle of a send within a write" to listOf(firstWrite, send(RC_SEND_MIDDLE, MTU)),
            "the end of a send within a write" to listOf(firstWrite, send(RC_SEND_LAST, 10)),
            "a read within a write" to listOf(firstWrite, whole(RC_READ_REQUEST)),
            "a write of fewer bytes than its header says" to listOf(write(RC_WRITE_ONLY, 100, of = 101)),
            "a write of more bytes than its header says" to listOf(write(RC_WRITE_ONLY, 100, of = 99)),
            "an empty write that its header says is long" to listOf(write(RC_WRITE_ONLY, 0, of = 600)),
            "the first of several packets of a write that one packet holds" to listOf(write(RC_WRITE_FIRST, MTU)),
            "a write that ends too early" to listOf(firstWrite, send(RC_WRITE_LAST, 100)),
            "a write with immediate data that ends too early" to listOf(firstWrite, send(RC_WRITE_LAST_IMMEDIATE, 100)),
            "a write that ends too late" to listOf(write(RC_WRITE_FIRST, MTU, of = 300), send(RC_WRITE_LAST, 100)),
            "a write that goes on where it should end" to
                listOf(write(RC_WRITE_FIRST, MTU, of = 2 * MTU), send(RC_WRITE_MIDDLE, MTU)),
            "an atomic at an address that 8 doesn't divide" to listOf(whole(RC_FETCH_ADD) { remoteAddress += 4 }),
            "an atomic write at an address that 8 doesn't divide" to
                listOf(whole(RC_ATOMIC_WRITE) { remoteAddress += 4 }),
            "an atomic write of no bytes" to listOf(whole(RC_ATOMIC_WRITE) { payloadLength = 0 }),
            "an atomic write of fewer bytes than its header says" to
                listOf(whole(RC_ATOMIC_WRITE) { payloadLength = 4 }),
            "an atomic write of more than 8 bytes" to listOf(write(RC_ATOMIC_WRITE, 16)),
            "an atomic write that its header says is longer" to listOf(write(RC_ATOMIC_WRITE, 8, of = 16)),
            "an atomic write within a send" to listOf(firstSend, whole(RC_ATOMIC_WRITE)),
            "an atomic write within a write" to listOf(firstWrite, whole(RC_ATOMIC_WRITE)),
            "a flush within a send" to listOf(firstSend, whole(RC_FLUSH) { placement = 1 }),
            "a flush within a write" to listOf(firstWrite, whole(RC_FLUSH) { placement = 1 }),
            "a flush to no placement" to listOf(whole(RC_FLUSH) { placement = 0 }),
            "a flush to an unknown placement" to listOf(whole(RC_FLUSH) { placement = 5 }),
            "a flush to persistence, which the queue pair does not permit" to listOf(whole(RC_FLUSH) { placement = 2 }),
            "a flush of an unknown selectivity" to listOf(whole(RC_FLUSH) { placement = 0x21 }),
            "a flush of more than 2 GiB" to
                listOf(
                    whole(RC_FLUSH) {
                        placement = 1
                        dmaLength = Int.MIN_VALUE + 1
                    },
                ),
            "a comparison at an odd address" to listOf(whole(RC_COMPARE_SWAP) { remoteAddress++ }),
        )

    /** Requests for memory that the peer must not touch (IBA volume 1, 9.7.4.1.5). */
    val wrongPlaces: Map<String, GuardedBench.(Packet) -> Unit> =
        mapOf(
            "with a key that no region has" to { it.rkey = it.rkey xor 0x100 },
            "with key 0" to { it.rkey = 0 },
            "before the region's beginning" to { it.remoteAddress -= 8 },
            "that ends behind the region's end" to {
                it.remoteAddress =
                    mr.address() + mr.length() -
                    if (Opcode.hasAtomicEth(it.opcode) || it.opcode == RC_ATOMIC_WRITE) 0 else 4
            },
            "behind the region" to { it.remoteAddress = mr.address() + mr.length() },
            "at address 0" to { it.remoteAddress = 0 },
            "that wraps around the end of all addresses" to { it.remoteAddress = -8 },
            "in the upper half of all addresses" to { it.remoteAddress = Long.MIN_VALUE },
            "of a region for its owner alone" to {
                val closed = qp.protectionDomain().memoryRegion(64, AccessFlag.LOCAL_WRITE)
                it.rkey = closed.rkey()
                it.remoteAddress = closed.address()
            },
            "of a region of another protection domain" to {
                val remote = arrayOf(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
                val other = context.protectionDomain().memoryRegion(64, AccessFlag.LOCAL_WRITE, *remote)
                it.rkey = other.rkey()
                it.remoteAddress = other.address()
            },
        )

    /** Packets that mean nothing to a queue pair that waits for requests and has sent none. */
    val strays: Map<String, Step> =
        mapOf(
            "a wrong P_Key" to whole(RC_WRITE_ONLY) { pkey = 0x1234 },
            "the P_Key 0, which is invalid" to whole(RC_WRITE_ONLY) { pkey = 0 },
            "another source address" to whole(RC_WRITE_ONLY) { sourceGidLow++ },
            "a queue pair that isn't there" to whole(RC_WRITE_ONLY) { destinationQp = destinationQp xor 0x800000 },
            "the queue pair of the connection manager" to whole(RC_WRITE_ONLY) { destinationQp = 1 },
            "queue pair 0" to whole(RC_WRITE_ONLY) { destinationQp = 0 },
            "the queue pair of multicast" to whole(RC_WRITE_ONLY) { destinationQp = 0xffffff },
            "an opcode of UC" to whole(RC_WRITE_ONLY or Opcode.UC),
            "an opcode of UD" to whole(UD_SEND_ONLY),
            "a congestion notification" to Step(Opcode.CNP) {},
            "an acknowledgement of nothing" to Step(RC_ACK) { syndrome = ACK },
            "a NAK for nothing" to Step(RC_ACK) { syndrome = NAK_REMOTE_ACCESS },
            "an RNR NAK for nothing" to Step(RC_ACK) { syndrome = 0x21 },
            "a read's data that nobody asked for" to whole(RC_READ_RESPONSE_ONLY),
            "a read's first data that nobody asked for" to send(RC_READ_RESPONSE_FIRST, MTU),
            "a read's middle data that nobody asked for" to send(RC_READ_RESPONSE_MIDDLE, MTU),
            "a read's last data that nobody asked for" to whole(RC_READ_RESPONSE_LAST),
            "the answer to an atomic that nobody posted" to Step(RC_ATOMIC_ACK) { originalValue = -1 },
        )
}
