package org.kverbs.ibtool.services

import org.kverbs.management.agent.ReceivedRequest
import org.kverbs.management.structures.MADStatusInvalidField
import org.kverbs.management.structures.OpenIBHostInfo
import org.kverbs.management.structures.OpenIBPing
import org.kverbs.management.structures.OpenIBSysstatPing

/** Answers what `ibping` and `ibsysstat` ask this host. */
internal object HostServer {
    private const val PING = 0x10
    private const val HOST = 0x11
    private const val CPU = 0x12

    /** Answers a request of the class of `ibping`. */
    fun ping(request: ReceivedRequest): Unit = request.answer(OpenIBPing { hostName = LocalHost.name() })

    /** Answers a request of the class of `ibsysstat`. */
    fun system(request: ReceivedRequest) {
        when (request.attributeId) {
            PING -> request.answer(request.value(OpenIBSysstatPing))
            HOST -> text(request, LocalHost.name())
            CPU -> text(request, LocalHost.processors())
            else -> request.refuse(MADStatusInvalidField.INVALID_ATTRIBUTE_OR_MODIFIER)
        }
    }

    private fun text(
        request: ReceivedRequest,
        text: String,
    ) {
        val bytes = text.toByteArray() + 0
        if (bytes.size > OpenIBHostInfo.byteSize) {
            request.answerLong(bytes)
        } else {
            request.answer(OpenIBHostInfo.of(bytes.copyOf(OpenIBHostInfo.byteSize)))
        }
    }
}
