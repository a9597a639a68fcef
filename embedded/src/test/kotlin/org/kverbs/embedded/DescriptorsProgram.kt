package org.kverbs.embedded

import org.kverbs.CompletionQueue
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType
import java.io.FileInputStream
import java.io.IOException

/**
 * Prints the errors of devices when the process has no file descriptor left, for [DescriptorsSpec]. The program has its
 * own limit.
 */
object DescriptorsProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        val provider = EmbeddedProvider(udpWords(3))
        val (first, second, third) = provider.devices().map { Device.of(provider, it) }
        first.open().use { device ->
            val cq: CompletionQueue = device.completionQueue(4)
            val attributes = QueuePairInitAttributes.of(QueuePairType.UD, cq).with(QueuePairCapabilities(4, 4, 1, 1, 0))
            val qp = device.protectionDomain().queuePair(attributes)
            second.open().close() // loads the classes
            tell("not at its end") { qp.attachMulticast(Gid.parse("239.1.2.3"), 0) }
            val left = exhaust()
            tell("joining") { qp.attachMulticast(Gid.parse("239.1.2.4"), 0) }
            tell("opening") { third.open().use(Context::queryDevice) }
            left.forEach { it.close() }
            tell("joining later") { qp.attachMulticast(Gid.parse("239.1.2.4"), 0) }
            tell("opening later") { third.open().use(Context::queryDevice) }
        }
    }

    private fun exhaust(): List<FileInputStream> {
        val open = mutableListOf<FileInputStream>()
        try {
            while (true) open += FileInputStream("/dev/null")
        } catch (_: IOException) {
            return open
        }
    }

    private fun tell(
        what: String,
        action: () -> Unit,
    ) {
        try {
            action()
            println("$what: done")
        } catch (e: RdmaSystemException) {
            println("$what: ${e.errnoName()}")
        }
    }
}
