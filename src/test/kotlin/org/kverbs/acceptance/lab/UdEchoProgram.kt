package org.kverbs.acceptance.lab

import org.kverbs.dsl.openDevice
import org.kverbs.management.path.MadPath
import org.kverbs.management.rmpp.RmppTransport
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.UdTransport

private const val METHOD_AT = 3
private const val RESPONSE = 0x80

/** Answers each message over a queue pair of the embedded device with its own data, until its standard input ends. */
internal object UdEchoProgram {
    @JvmStatic
    fun main(arguments: Array<String>) {
        openDevice("embedded0").use { context ->
            val datagrams = UdTransport.open(context.protectionDomain())
            RmppTransport(datagrams).use { transport ->
                transport.receive(
                    object : MadReceiver {
                        override fun received(
                            mad: ByteArray,
                            back: MadPath?,
                        ) {
                            val answer = mad.also { it[METHOD_AT] = (it[METHOD_AT].toInt() or RESPONSE).toByte() }
                            transport.send(answer, checkNotNull(back))
                        }

                        override fun undelivered(mad: ByteArray) = Unit
                    },
                )
                println(datagrams.endpoint.toText())
                System.`in`.readAllBytes()
            }
        }
    }
}
