package org.kverbs.management.transport

import org.kverbs.umad.UmadAgent
import org.kverbs.umad.UmadPort
import java.nio.ByteBuffer

private const val CLASS_AT = 1
private const val VERSION_AT = 2
private const val METHOD_AT = 3
private const val OUI_AT = 36
private const val OUI_BITS = 0xffffff
private const val RESPONSE = 0x80
private const val TRAP = 0x05
private const val TRAP_REPRESS = 0x07

private const val SUBNET_ADMINISTRATION = 0x03

/**
 * The agents of a port: those that ask, one for each kind of datagram, and those that answer. The kernel gives a
 * request to the agent that has its method, so that a program has one agent for each method, whoever serves.
 */
internal class UmadAgents(
    private val umad: UmadPort,
) {
    private val asking = HashMap<UmadAgent, Int>()
    private val served = HashMap<UmadAgent, Served>()

    private class Served {
        /** The agent that has a method. */
        val byMethod = HashMap<Int, Int>()

        /** How many registrations have a method. */
        val users = HashMap<Int, Int>()
    }

    /**
     * Returns the agent that sends a datagram. An answer goes by the agent that got the request: of a long one the
     * peer's acknowledgements come as requests, and only that agent gets them.
     */
    @Synchronized
    fun senderOf(mad: ByteArray): Int {
        val kind =
            kind(number(mad, CLASS_AT), number(mad, VERSION_AT), ByteBuffer.wrap(mad).getInt(OUI_AT) and OUI_BITS)
        val method = number(mad, METHOD_AT)
        val asked = if (method == TRAP_REPRESS) TRAP else method and RESPONSE.inv()
        val answering = if (asked != method) served[kind]?.byMethod?.get(asked) else null
        return answering ?: asking.getOrPut(kind) { umad.register(kind) }
    }

    /** Makes requests arrive until the result is closed. */
    @Synchronized
    fun serve(service: ServedClass): AutoCloseable {
        val kind = kind(service.mgmtClass.value, service.classVersion, service.vendor)
        val known = served.getOrPut(kind) { Served() }
        val methods = service.methods.map { it.value }.toSet()
        val missing = methods - known.byMethod.keys
        try {
            if (missing.isNotEmpty()) {
                val agent = umad.register(kind.answering(missing))
                missing.forEach { known.byMethod[it] = agent }
            }
            methods.forEach { known.users.merge(it, 1, Int::plus) }
        } finally {
            if (known.byMethod.isEmpty()) served.remove(kind)
        }
        var isClosed = false
        return AutoCloseable {
            synchronized(this) {
                if (!isClosed) release(kind, known, methods)
                isClosed = true
            }
        }
    }

    /** Ends the agents whose methods nobody serves any more. */
    private fun release(
        kind: UmadAgent,
        known: Served,
        methods: Set<Int>,
    ) {
        methods.forEach { known.users.merge(it, -1, Int::plus) }
        val idle =
            known.byMethod.values.toSet().filter { agent ->
                known.byMethod.filterValues { it == agent }.keys.all { known.users[it] == 0 }
            }
        known.byMethod.values.removeAll(idle.toSet())
        if (known.byMethod.isEmpty()) served.remove(kind)
        for (agent in idle) {
            try {
                umad.unregister(agent)
            } catch (_: IllegalStateException) {
                // Closing the port has ended it.
            }
        }
    }

    private fun kind(
        mgmtClass: Int,
        version: Int,
        vendor: Int,
    ): UmadAgent {
        val agent = UmadAgent.asking(mgmtClass, version)
        return when {
            mgmtClass in ServedClass.ofVendors -> agent.withSegments().withOui(vendor)
            hasSegments(mgmtClass) -> agent.withSegments()
            else -> agent
        }
    }

    private fun number(
        mad: ByteArray,
        at: Int,
    ) = mad[at].toInt() and 0xff

    companion object {
        /** Whether the kernel cuts and joins long messages of a class. */
        fun hasSegments(mgmtClass: Int): Boolean =
            mgmtClass == SUBNET_ADMINISTRATION || mgmtClass in ServedClass.ofVendors
    }
}
