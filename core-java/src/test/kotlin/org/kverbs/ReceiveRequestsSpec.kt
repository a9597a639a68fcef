package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.property.Arb
import io.kotest.property.arbitrary.bind
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.list
import io.kotest.property.arbitrary.long
import io.kotest.property.arbitrary.pair
import io.kotest.property.checkAll
import org.kverbs.NullVerbs.onNullDevice

class ReceiveRequestsSpec :
    FunSpec({
        onNullDevice()

        test("should follow one after the other with their entries, however long the list gets") {
            val entries = Arb.list(Arb.bind(Arb.long(), Arb.int(), Arb.int(), ::Entry), 0..6)
            val reused = ReceiveRequests()
            checkAll(150, Arb.list(Arb.pair(Arb.long(), entries), 0..120)) { planned ->
                listOf(ReceiveRequests(), reused.also { it.clear() }).forEach { requests ->
                    planned.forEach { (id, entries) ->
                        requests.receive(id)
                        entries.forEach { requests.into(it.address, it.length, it.lkey) }
                    }
                    requests.size() shouldBe planned.size
                    requests.follow().map { it.id to it.entries } shouldContainExactly planned
                }
            }
        }

        test("should refuse a buffer before any request") {
            NullBench().use { bench ->
                shouldThrow<IllegalStateException> { ReceiveRequests().into(bench.mr.slice()) }.message shouldContain
                    "call receive first"
            }
        }

        test("should post to a queue pair and to a shared queue, and name the refused one") {
            NullBench().use { bench ->
                val srq = bench.sharedReceiveQueue()
                val requests = ReceiveRequests()
                repeat(20) { requests.receive(it.toLong()).into(bench.mr.slice()) }
                NullVerbs.set(NullVerbs.Option.REFUSE_ERRNO, 12)
                val qp = bench.queuePair()
                listOf<() -> Unit>({ qp.postReceive(requests) }, { srq.postReceive(requests) }).forEach { post ->
                    NullVerbs.set(NullVerbs.Option.REFUSE_AT, 17)
                    shouldThrow<WorkRequestException> { post() }.index() shouldBe 17
                    NullVerbs.set(NullVerbs.Option.REFUSE_AT, -1)
                    post()
                }
            }
        }
    })
