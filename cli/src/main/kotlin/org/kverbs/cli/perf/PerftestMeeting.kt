package org.kverbs.cli.perf

import org.kverbs.RemoteMemory
import org.kverbs.attributes.Gid
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairEndpoint
import java.nio.ByteBuffer
import java.util.Locale
import kotlin.time.Duration

/**
 * Meets a program of perftest, as ib_write_lat(1), whose exchange was seen on the wire of version 6.06 (Debian 12). In
 * each step the client sends first, and the server answers with a message of the same length:
 *
 * 1. the version, 16 bytes; the size of the buffers' cycle and of a cache line, 4 bytes each; the code of the MTU as
 *    text, 2 bytes;
 * 2. the address of each queue pair, 108 bytes of text, and all of them again;
 * 3. the first address once more, whenever both ends wait for each other;
 * 4. after a test of bandwidth five numbers of 8 bytes: size, iterations, peak and average in MB/s, Mpps;
 * 5. "done" from both ends, but in write-lat.
 *
 * In write-lat the server writes first, in send-lat the client sends first. An end that writes before its turn can
 * overwrite a message that the other has not seen yet.
 *
 * @param leads true for the client
 * @param mtu the MTU of this end, bytes
 */
internal class PerftestMeeting(
    private val wire: Wire,
    private val leads: Boolean,
    private val options: PerfOptions,
    private val mtu: Int,
) : Meeting {
    override val isOurs get() = false
    override val serverWritesFirst get() = true
    private var first = ByteArray(0)
    private var peerMtu = mtu
    private val isLatency = options.test.isLatency

    /** The passive end of these tests has no part in the messages: it waits for the client's next step at once. */
    private val isOneSided = !isLatency && !options.bothWays && options.test.operation != PerfTest.Operation.SEND

    override fun greet() {
        val version =
            if (leads) {
                swap(VERSION.padded(VERSION_BYTES))
            } else {
                wire.read(VERSION_BYTES).also { wire.write(it) }
            }
        val text = version.toString(Charsets.ISO_8859_1).trimEnd('\u0000')
        if (!Regex("[0-9]+\\.[0-9]+").matches(text)) {
            throw PerfException("the peer's version should be as $VERSION, but it is no program of perftest")
        }
        swap(number(CYCLE))
        swap(number(CACHE_LINE))
        val code = swap("${Mtu.ofBytes(mtu).ordinalCode()}".padded(MTU_BYTES)).first().toInt().toChar()
        peerMtu = if (code in '1'..'5') SMALLEST_MTU shl (code - '1') else mtu
    }

    override fun exchange(local: List<Meeting.Place>): List<Meeting.Place> {
        val texts = local.map { text(it).padded(PLACE_BYTES) }
        first = texts.first()
        val peer = texts.map { parse(swap(it)) }
        texts.forEach { swap(it) }
        return peer
    }

    override fun connected() = sync()

    override fun ready() {
        if (!isOneSided) sync()
    }

    override fun tellSent(messages: Long) = Unit

    override fun peerSent() = options.iterations.toLong() * options.queuePairs

    override fun report(
        ours: PerfRow?,
        within: Duration,
    ): PerfRow? {
        if (isLatency) {
            if (options.test != PerfTest.WRITE_LAT) sync(within)
            return null
        }
        if (isOneSided) sync(within)
        if (!isOneSided && !options.bothWays) {
            sync(within)
            return null
        }
        val row = ours as PerfRow.Bandwidth?
        val size = options.sizes.first()
        val mib = size / MIB
        val peer =
            listOf(
                ByteBuffer.allocate(8).putLong(size.toLong()),
                ByteBuffer.allocate(8).putLong(row?.iterations ?: 0),
                ByteBuffer.allocate(8).putDouble((row?.peak ?: 0.0) * mib),
                ByteBuffer.allocate(8).putDouble((row?.average ?: 0.0) * mib),
                ByteBuffer.allocate(8).putDouble((row?.average ?: 0.0) / MILLION),
            ).map { ByteBuffer.wrap(swap(it.array(), within)) }
        sync(within)
        if (leads && !options.bothWays) return null // it has measured nothing, and says what lay in its memory
        val rate = figure(peer[4].getDouble(0) * MILLION)
        val count = peer[1].getLong(0)
        val seconds = (count / rate).takeIf { it.isFinite() } ?: 0.0
        return PerfRow.Bandwidth(size, count, seconds, figure(peer[2].getDouble(0) / mib), rate)
    }

    private fun figure(value: Double) =
        if (value.isFinite()) value else throw PerfException("the peer reports figures that are no numbers")

    override fun part() {
        if (options.test != PerfTest.WRITE_LAT) wire.write(DONE)
    }

    private fun sync(within: Duration = options.timeout) {
        swap(first, within)
    }

    private fun swap(
        ours: ByteArray,
        within: Duration = options.timeout,
    ): ByteArray {
        if (leads) wire.write(ours)
        val theirs = wire.read(ours.size, within)
        if (!leads) wire.write(ours)
        return theirs
    }

    private fun text(place: Meeting.Place): String {
        val endpoint = place.endpoint
        return "%04x:%04x:%06x:%06x:%08x:%016x:%s:%08x:".format(
            Locale.ROOT,
            endpoint.lid(),
            if (options.test.isRead) place.reads else 1,
            endpoint.queuePairNumber(),
            endpoint.psn(),
            place.memory.rkey(),
            place.memory.address(),
            endpoint
                .gid()
                .toWire()
                .chunked(2)
                .joinToString(":"),
            0,
        )
    }

    private fun parse(bytes: ByteArray): Meeting.Place {
        val text = bytes.toString(Charsets.ISO_8859_1)
        val match = PLACE.find(text) ?: throw PerfException("the peer's address is of another form than perftest's")
        val (lid, reads, qpn, psn, rkey, address, gid) = match.destructured
        return Meeting.Place(
            QueuePairEndpoint(
                lid.hexToInt(),
                Gid.parse(gid.replace(":", "")),
                qpn.hexToInt(),
                psn.hexToInt(),
                minOf(mtu, peerMtu),
                0,
            ),
            RemoteMemory(address.hexToLong(), options.longest.toLong(), rkey.hexToInt()),
            reads.hexToInt(),
        )
    }

    private fun number(value: Int) = ByteBuffer.allocate(Int.SIZE_BYTES).putInt(value).array()

    private fun String.padded(size: Int) = encodeToByteArray().copyOf(size)

    private fun Mtu.ordinalCode() = bytes().countTrailingZeroBits() - SMALLEST_MTU.countTrailingZeroBits() + 1

    private companion object {
        const val VERSION = "6.06"
        const val VERSION_BYTES = 16
        const val CYCLE = 4096
        const val CACHE_LINE = 64
        const val MTU_BYTES = 2
        const val PLACE_BYTES = 108
        const val SMALLEST_MTU = 256
        const val MIB = (1 shl 20).toDouble()
        const val MILLION = 1e6
        val DONE = "done\u0000".encodeToByteArray()
        val PLACE =
            Regex(
                "^([0-9a-f]{4}):([0-9a-f]{4}):([0-9a-f]{6}):([0-9a-f]{6}):([0-9a-f]{8}):([0-9a-f]{16}):" +
                    "((?:[0-9a-f]{2}:){15}[0-9a-f]{2}):",
            )
    }
}
