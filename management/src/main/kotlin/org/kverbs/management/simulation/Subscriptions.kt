package org.kverbs.management.simulation

import org.kverbs.attributes.Gid
import org.kverbs.management.sa.wants
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.structures.InformInfoRecord
import org.kverbs.management.structures.NoticeSMP
import org.kverbs.structures.copy

private const val MOST = 10_000

/** The subscribers to traps, and the traps that each of them wants reported. */
internal class Subscriptions(
    private val gidOf: (lid: Int) -> Gid,
) {
    private class Subscription(
        val lid: Int,
        val info: InformInfo,
    )

    private val all = ArrayList<Subscription>()

    /** Enters a subscription, or takes it out again. The answer is the request. */
    fun subscribe(question: Question): Found {
        val info = InformInfo.of(question.data(InformInfo.byteSize))
        val same = all.indexOfFirst { it.lid == question.from && isSame(it.info, info) }
        when {
            info.subscribe == 0 && same < 0 -> return Found(emptyList(), Administration.REQUEST_INVALID)
            info.subscribe == 0 -> all.removeAt(same)
            same < 0 && all.size >= MOST -> return Found(emptyList(), Administration.DENIED)
            same < 0 -> all += Subscription(question.from, info)
        }
        return Found(listOf(info))
    }

    /** The LIDs of the subscribers to the trap, each once. */
    fun wanting(notice: NoticeSMP): Set<Int> =
        all
            .filter {
                it.info.wants(
                    notice.issuerLID,
                    notice.type.value,
                    notice.trapNumberDeviceID,
                    notice.producerTypeVendorID,
                )
            }.map { it.lid }
            .toSet()

    private fun isSame(
        one: InformInfo,
        other: InformInfo,
    ) = one.copy { subscribe = 0 } == other.copy { subscribe = 0 }

    fun find(question: Question): Found {
        val wanted = question.data(InformInfoRecord.byteSize)
        val matching = Matching(InformInfoRecord.components, question.mask, wanted)
        val records =
            all.mapIndexed { index, subscription ->
                InformInfoRecord {
                    subscriberGID = gidOf(subscription.lid)
                    enum = index
                    informInfo.memory.copyFrom(subscription.info.memory)
                }
            }
        return Found(records.filter { matching.matches(it) })
    }

    private companion object {
        const val ALL = 0xffff
        const val ALL_PRODUCERS = 0xffffff
    }
}
