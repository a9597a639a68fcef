package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.MemoryRegion
import org.kverbs.QueuePairInitAttributes
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.time.Duration
import kotlin.random.Random

/** Checks programs without mistakes: the diagnostics report none of them, and change nothing that they see. */
class CorrectProgramSpec :
    FunSpec({
        val lines =
            mapOf(
                "a perfect line" to Faults.NONE,
                "a bad line" to Faults.BAD_LINE,
                "a slow receiver" to Faults.NONE.slowReceiver(10_000),
                "a delay that varies" to Faults.NONE.delay(Duration.ofNanos(1_000), Duration.ofMillis(1)),
            )
        for ((name, faults) in lines) {
            test("should report nothing for every operation, many at once, over $name") {
                for (seed in 1L..3L) {
                    correct(patient) {
                        fabric.setFaults(faults)
                        exchange(this, Random(seed))
                    }
                }
            }
        }

        test("should let a fenced send use the data of a read, with no completion between them") {
            correct {
                b.fill(1)
                b.qp.postReceive(1, b.mr.slice(1024, 64))
                a.post {
                    read(1, b.mr.remote()).into(a.mr.slice(0, 64))
                    send(2).from(a.mr.slice(0, 64)).fence().signaled()
                }
                a.take(1)
                b.take(1)
                b.bytes(1024, 64) shouldBe b.bytes(0, 64)
                a.bytes(0, 64) shouldBe b.bytes(0, 64)
            }
        }

        test("should let a read write to the source of an earlier send of the same queue") {
            correct {
                a.fill(1)
                b.fill(2)
                val sent = a.bytes(0, 64)
                a.post {
                    write(1, b.mr.remote()).from(a.mr.slice(0, 64))
                    read(2, b.mr.remote().at(64)).into(a.mr.slice(0, 64)).signaled()
                }
                a.take(1)
                b.bytes(0, 64) shouldBe sent
                a.bytes(0, 64) shouldBe b.bytes(64, 64)
            }
        }

        test("should let a program use memory beyond the 8 bytes of an atomic") {
            correct {
                a.post { fetchAndAdd(1, b.mr.remote(), 1).into(a.mr.slice(0, 16)).signaled() }
                a.mr.memory().set(JAVA_BYTE, 8, 5)
                a.take(1)
                a.bytes(0, 16) shouldBe ByteArray(16).also { it[8] = 5 }
            }
        }

        test("should let a peer write, read and count in memory that is posted") {
            correct {
                a.fill(1)
                b.fill(2)
                val before = b.bytes(64, 64)
                val counted = b.bytes(136, 56)
                b.post { write(1, a.mr.remote().at(4096)).from(b.mr.slice(0, 64)).signaled() }
                b.qp.postReceive(2, b.mr.slice(64, 64))
                b.qp.postReceive(3, b.mr.slice(128, 64))
                a.post {
                    write(1, b.mr.remote()).from(a.mr.slice(0, 64))
                    read(2, b.mr.remote().at(64)).into(a.mr.slice(64, 64))
                    fetchAndAdd(3, b.mr.remote().at(128), 1).into(a.mr.slice(128, 8)).signaled()
                }
                a.take(1)
                a.bytes(64, 64) shouldBe before
                b.bytes(0, 64) shouldBe a.bytes(0, 64)
                b.bytes(136, 56) shouldBe counted
                b.take(1)
                a.post { send(4).from(a.mr.slice(0, 32)).signaled() }
                b.take(1).single().byteLength() shouldBe 32
                b.bytes(64, 64) shouldBe a.bytes(0, 32) + before.drop(32)
            }
        }

        test("should let a write with immediate go to the memory of the receive that it takes") {
            correct {
                a.fill(1)
                b.qp.postReceive(1, b.mr.slice(0, 64))
                a.post { writeWithImmediate(1, b.mr.remote(), 7).from(a.mr.slice(0, 64)).signaled() }
                b.take(1)
                b.bytes(0, 64) shouldBe a.bytes(0, 64)
            }
        }

        test("should let the next message use the receive of a message that was lost in part") {
            correct(type = UC) {
                a.fill(1)
                fabric.setFaults(Faults.NONE.loss(0.2))
                repeat(40) { b.qp.postReceive(it.toLong(), b.mr.slice(it * 8192L, 8192)) }
                repeat(40) { a.post { send(1).from(a.mr.slice(it * 8192L, 8192)).signaled() } }
                a.take(40)
                fabric.clock().advance(Duration.ofSeconds(1))
                val whole = List(40) { a.bytes(it * 8192L, 8192).toList() }
                val came = b.rest().map { b.bytes(it.workRequestId() * 8192, 8192).toList() }
                came.isEmpty() shouldBe false
                came shouldBe whole.filter { it in came }
            }
        }

        test(
            "should let a queue pair be reset and its receives be posted again, after their memory was used for " +
                "something else",
        ) {
            correct {
                b.qp.postReceive(1, b.mr.slice(0, 64))
                b.qp.modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build())
                b.mr.memory().set(JAVA_BYTE, 0, 5)
                b.bytes(0, 2) shouldBe byteArrayOf(5, 0)
                b.qp.connect(a.qp.endpoint())
                b.qp.postReceive(2, b.mr.slice(0, 64))
                b.qp.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build())
                b.take(1).single().status() shouldBe WR_FLUSH_ERR
                b.bytes(0, 2) shouldBe byteArrayOf(5, 0)
            }
        }

        test("should let a completion queue be resized, and its completions be forgotten with another queue pair") {
            correct {
                a.fill(1)
                b.fill(2)
                val other = a.mr.protectionDomain().queuePair(QueuePairInitAttributes.of(RC, a.cq))
                val far = b.mr.protectionDomain().queuePair(QueuePairInitAttributes.of(RC, b.cq))
                other.connect(far.endpoint())
                far.connect(other.endpoint())
                other.postWith { it.write(9, b.mr.remote().at(4096)).from(a.mr.slice(4096, 64)).signaled() }
                a.post {
                    repeat(
                        8,
                    ) { read(it.toLong(), b.mr.remote().at(it * 64L)).into(a.mr.slice(it * 64L, 64)).signaled() }
                }
                other.close()
                a.mr.memory().set(JAVA_BYTE, 4096, 0)
                a.cq.resize(2000)
                a.take(8)
                a.bytes(0, 512) shouldBe b.bytes(0, 512)
            }
        }

        test("should let everything be closed with its device, with work outstanding, whatever was made last") {
            correct {
                val late: MemoryRegion = a.mr.protectionDomain().memoryRegion(128, AccessFlag.LOCAL_WRITE)
                a.qp.postReceive(1, late.slice(0, 64))
                a.post { write(2, b.mr.remote()).from(late.slice(64, 64)) }
            }
        }
    })

private fun correct(
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    type: QueuePairType = RC,
    program: Pair.() -> Unit,
) {
    val fabric = EmbeddedFabric.virtual(1)
    fabric.diagnose { }
    Pair(fabric, type, options, 1L shl 19).use(program)
    fabric.misuses().shouldBeEmpty()
}

/** The completions that are there. */
private fun End.rest(): List<WorkCompletion> {
    val batch = WorkCompletions(64)
    return List(cq.poll(batch)) { batch.get(it).copy() }
}
