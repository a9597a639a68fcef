package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.internal.abi.IbvSendWr
import org.kverbs.internal.abi.IbvWrOpcode
import java.nio.ByteOrder
import kotlin.random.Random

private const val PROGRAMS = 100
private const val STEPS = 300

/** What one request of a list is in C. */
private class Modelled(
    var id: Long,
    val opcode: Int,
    var word: Int,
    val remote: Long,
) {
    var flags = 0
    val entries = mutableListOf<Entry>()
}

/** Compares lists that random programs make with what the same calls mean. */
class RequestListModelSpec :
    FunSpec({
        onNullDevice()
        val seed = System.nanoTime()

        fun bigEndian(word: Int) =
            if (ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN) Integer.reverseBytes(word) else word

        fun Random.entry() = Entry(nextLong(), nextInt(), nextInt())

        fun SendRequests.check(model: List<Modelled>) {
            size() shouldBe model.size
            val found = follow()
            found.size shouldBe model.size
            found.zip(model) { at, it ->
                at.id shouldBe it.id
                at.int(IbvSendWr.OPCODE) shouldBe it.opcode
                at.int(IbvSendWr.SEND_FLAGS) shouldBe it.flags
                at.int(IbvSendWr.IMM_DATA) shouldBe it.word
                if (it.remote != 0L) at.long(IbvSendWr.WR_RDMA_REMOTE_ADDR) shouldBe it.remote
                at.entries shouldBe it.entries
            }
        }

        test("should hold the sends that a random program of calls, posts and reuse makes ($seed)") {
            val random = Random(seed)
            repeat(PROGRAMS) { program ->
                val list = SendRequests()
                val model = mutableListOf<Modelled>()
                var tickets = mutableListOf<Long>()
                var old = mutableListOf<Long>()
                // Few or many entries for each request, so that either part of the memory grows first.
                val weight = random.nextInt(1, 6)
                repeat(STEPS) { step ->
                    withClue("program $program, step $step") {
                        val id = random.nextLong()
                        when (random.nextInt(12 + weight)) {
                            0 -> {
                                list.send(id)
                                model += Modelled(id, IbvWrOpcode.IBV_WR_SEND, 0, 0)
                                tickets += list.requests.lastTicket()
                            }

                            1 -> {
                                val word = random.nextInt()
                                list.writeWithImmediate(id, 7 + id % 5, 3, word)
                                model +=
                                    Modelled(
                                        id,
                                        IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM,
                                        bigEndian(word),
                                        7 + id % 5,
                                    )
                                tickets += list.requests.lastTicket()
                            }

                            2 -> {
                                list.localInvalidate(id, step)
                                model += Modelled(id, IbvWrOpcode.IBV_WR_LOCAL_INV, step, 0)
                                tickets += list.requests.lastTicket()
                            }

                            3 -> {
                                list.compareAndSwap(id, 9 + id % 5, 1, id, -id)
                                model += Modelled(id, IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP, 0, 9 + id % 5)
                                tickets += list.requests.lastTicket()
                            }

                            4 -> {
                                if (model.isNotEmpty()) {
                                    val bits = 1 shl random.nextInt(4)
                                    list.flag(bits)
                                    model.last().flags = model.last().flags or bits
                                }
                            }

                            5 -> {
                                if (model.isNotEmpty()) {
                                    val at = random.nextInt(model.size)
                                    list.requests.signal(tickets[at])
                                    model[at].flags = model[at].flags or 2
                                }
                            }

                            6 -> {
                                if (model.isNotEmpty()) {
                                    val word = random.nextInt()
                                    list.requests.immediateOfLast(word)
                                    model.last().word = word
                                }
                            }

                            7 -> {
                                list.check(model)
                            }

                            8 -> {
                                list.requests.first()
                            }

                            9 -> {
                                if (random.nextInt(10) == 0) {
                                    list.clear()
                                    model.clear()
                                    old = tickets
                                    tickets = mutableListOf()
                                }
                            }

                            10 -> {
                                if (old.isNotEmpty()) {
                                    shouldThrow<IllegalStateException> { list.requests.fence(old.random(random)) }
                                }
                            }

                            11 -> {
                                val high = random.nextInt()
                                val first = random.nextInt()
                                list.requests.renumber(high, first)
                                model.forEachIndexed { i, it ->
                                    it.id = high.toLong() shl 32 or (first + i).toUInt().toLong()
                                }
                            }

                            else -> {
                                if (model.isNotEmpty()) {
                                    val entry = random.entry()
                                    list.entry(entry.address, entry.length, entry.lkey)
                                    model.last().entries += entry
                                }
                            }
                        }
                    }
                }
                list.check(model)
            }
        }

        test("should hold the receives that a random program of calls, posts and reuse makes ($seed)") {
            val random = Random(seed)
            repeat(PROGRAMS) {
                val list = ReceiveRequests()
                val model = mutableListOf<Pair<Long, MutableList<Entry>>>()
                repeat(STEPS) {
                    when (random.nextInt(8)) {
                        0, 1 -> {
                            random.nextLong().let { id ->
                                list.receive(id)
                                model += id to mutableListOf()
                            }
                        }

                        2 -> {
                            list.requests.first()
                        }

                        3 -> {
                            if (random.nextInt(15) == 0) {
                                list.clear()
                                model.clear()
                            }
                        }

                        else -> {
                            if (model.isNotEmpty()) {
                                val entry = random.entry()
                                list.into(entry.address, entry.length, entry.lkey)
                                model.last().second += entry
                            }
                        }
                    }
                }
                list.follow().map { it.id to it.entries } shouldBe model
            }
        }
    })
