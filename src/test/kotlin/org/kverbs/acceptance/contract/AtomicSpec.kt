package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.WorkCompletionOpcode.COMP_SWAP
import org.kverbs.WorkCompletionOpcode.FETCH_ADD
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_INV_REQ_ERR
import org.kverbs.WorkRequestException
import org.kverbs.acceptance.contract.Capability.ATOMICS
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions

/** Checks compare and swap, fetch and add, and their failures. */
internal class AtomicSpec :
    ContractSpec({
        case("should swap the peer's 8 bytes if they compare equal, and return the old value", RAW_CONNECT, ATOMICS) {
            val (a, b) = linked()
            b.mr.putLong(0x1122334455667788, 16)
            a.post { compareAndSwap(1, b.mr.remote().at(16), 0x1122334455667788, -5).into(a.mr.slice(0, 8)).signaled() }
            a.cq.takeOne().shouldBeDone(1, COMP_SWAP, a.qp, bytes = 8)
            a.mr.long() shouldBe 0x1122334455667788
            b.mr.long(16) shouldBe -5
            b.mr.long(8) shouldBe 0
            b.mr.long(24) shouldBe 0
        }

        case("should leave the peer's 8 bytes if they compare unequal, and return them", RAW_CONNECT, ATOMICS) {
            val (a, b) = linked()
            b.mr.putLong(42)
            a.post { compareAndSwap(1, b.mr.remote(), 41, 43).into(a.mr.slice(0, 8)).signaled() }
            a.cq.takeOne().shouldBeDone(1, COMP_SWAP, a.qp, bytes = 8)
            a.mr.long() shouldBe 42
            b.mr.long() shouldBe 42
        }

        case("should add to the peer's 8 bytes, and return the old value", RAW_CONNECT, ATOMICS) {
            val (a, b) = linked()
            b.mr.putLong(Long.MAX_VALUE)
            a.post {
                fetchAndAdd(1, b.mr.remote(), 2).into(a.mr.slice(0, 8)).signaled()
                fetchAndAdd(2, b.mr.remote(), -3).into(a.mr.slice(8, 8)).signaled()
            }
            a.cq.take(2).forEachIndexed { i, done -> done.shouldBeDone(i + 1L, FETCH_ADD, a.qp, bytes = 8) }
            a.mr.long() shouldBe Long.MAX_VALUE
            a.mr.long(8) shouldBe Long.MIN_VALUE + 1
            b.mr.long() shouldBe Long.MAX_VALUE - 1
        }

        case("should refuse an atomic on an address that is not a multiple of 8", RAW_CONNECT, ATOMICS) {
            val (a, b) = linked()
            val refusal =
                shouldThrow<WorkRequestException> {
                    a.post {
                        fetchAndAdd(
                            1,
                            b.mr.remote().at(4),
                            1,
                        ).into(a.mr.slice(0, 8))
                    }
                }
            refusal.errnoName() shouldBe "EINVAL"
            refusal.index() shouldBe 0
            refusal.message shouldContain "multiple of 8"
        }

        case("should fail an atomic whose lkey is wrong", RAW_CONNECT, ATOMICS) {
            val (a, b) = linked()
            a.post { fetchAndAdd(1, b.mr.remote(), 1).entry(a.mr.address(), 8, a.mr.lkey() xor 0x5500) }
            a.cq.takeOne().shouldHaveFailed(1, LOC_PROT_ERR, a.qp)
        }

        case("should fail an atomic whose rkey is wrong", RAW_CONNECT, ATOMICS) {
            val (a, b) = linked()
            a.post { compareAndSwap(1, b.mr.address(), b.mr.rkey() xor 0x5500, 0, 1).into(a.mr.slice(0, 8)) }
            a.cq.takeOne().shouldHaveFailed(1, REM_ACCESS_ERR, a.qp)
            b.mr.long() shouldBe 0
        }

        case("should fail an atomic on a region without REMOTE_ATOMIC", RAW_CONNECT, ATOMICS) {
            val (a, b) = linked()
            val plain = memory(4096, *FULL_ACCESS)
            a.post { fetchAndAdd(1, plain.remote(), 1).into(a.mr.slice(0, 8)) }
            a.cq.takeOne().shouldHaveFailed(1, REM_ACCESS_ERR, a.qp)
            plain.long() shouldBe 0
        }

        case("should fail an atomic through a queue pair without REMOTE_ATOMIC", RAW_CONNECT, ATOMICS) {
            val access = listOf(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ)
            val (a, b) = linked(options = ConnectOptions.builder().access(access).build())
            a.post { fetchAndAdd(1, b.mr.remote(), 1).into(a.mr.slice(0, 8)) }
            a.cq.takeOne().shouldHaveFailed(1, REM_INV_REQ_ERR, a.qp)
            b.mr.long() shouldBe 0
        }
    })
