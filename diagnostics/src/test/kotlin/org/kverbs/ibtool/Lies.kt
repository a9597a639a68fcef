package org.kverbs.ibtool

import org.kverbs.management.path.MadPath
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport
import kotlin.random.Random

private const val CLASS_AT = 1
private const val METHOD_AT = 3
private const val RESPONSE = 0x80
private const val SUBNET_ADMINISTRATION = 3
private const val ADMINISTRATION_DATA = 56
private const val DATA = 64

/** What a fabric answers in place of the truth. It gets the bytes of an answer, and where its data begin. */
internal enum class Lie(
    val tell: (mad: ByteArray, data: Int, random: Random) -> Unit,
) {
    ONES({ mad, data, _ -> mad.fill(-1, data) }),
    ZEROS({ mad, data, _ -> mad.fill(0, data) }),
    NOISE({ mad, data, random -> random.nextBytes(mad, data) }),
    SOME_BYTES({ mad, data, random ->
        if (data < mad.size) {
            repeat(3) { mad[random.nextInt(data, mad.size)] = random.nextInt().toByte() }
        }
    }),
    SOME_ANSWERS({ mad, data, random -> if (random.nextInt(8) == 0) random.nextBytes(mad, data) }),

    /** The status, and in subnet administration the sizes of the long message. */
    HEADERS({ mad, data, random ->
        if (random.nextInt(4) == 0) random.nextBytes(mad, 4, 6)
        if (data == ADMINISTRATION_DATA && random.nextBoolean()) random.nextBytes(mad, 24, ADMINISTRATION_DATA)
    }),
    SHORT({ mad, data, random -> mad.fill(0, random.nextInt(minOf(data, mad.size), mad.size + 1)) }),
}

/** A transport whose answers lie, the same way for the same seed. */
internal class Lies(
    private val inner: MadTransport,
    private val lie: Lie,
    seed: Int = 1,
) : MadTransport by inner {
    private val random = Random(seed)

    override fun receive(receiver: MadReceiver) =
        inner.receive(
            object : MadReceiver by receiver {
                override fun received(
                    mad: ByteArray,
                    back: MadPath?,
                ) {
                    if (mad[METHOD_AT].toInt() and RESPONSE != 0) {
                        val data = if (mad[CLASS_AT].toInt() == SUBNET_ADMINISTRATION) ADMINISTRATION_DATA else DATA
                        synchronized(random) { lie.tell(mad, minOf(data, mad.size), random) }
                    }
                    receiver.received(mad, back)
                }
            },
        )
}
