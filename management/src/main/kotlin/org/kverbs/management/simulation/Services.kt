package org.kverbs.management.simulation

import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.management.transport.guarded

/** What answers at nodes beside the agents for subnets and performance. */
internal fun interface Service {
    fun answer(
        mad: ByteArray,
        port: String,
    ): ByteArray?
}

/** The agents that a user gave, by management class. */
internal class Services(
    private val agents: Map<Int, SimulatedAgent>,
) {
    fun find(mad: ByteArray): Service? {
        val agent = agents[Mads.mgmtClass(mad)] ?: return null
        return Service { request, name -> answer(agent, request, name) }
    }

    private fun answer(
        agent: SimulatedAgent,
        mad: ByteArray,
        port: String,
    ): ByteArray? {
        guarded {
            val answer = agent.answer(mad.copyOf(), port)
            require(answer == null || answer.size == MAD_SIZE) {
                "the agent at $port answered ${answer?.size} bytes; give $MAD_SIZE"
            }
            return answer
        }
        return null
    }
}
