package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.acceptance.lab.Operation.COMPARE_AND_SWAP
import org.kverbs.acceptance.lab.Operation.FETCH_AND_ADD
import org.kverbs.acceptance.lab.Operation.SEND
import org.kverbs.acceptance.lab.Operation.SEND_WITH_IMMEDIATE
import org.kverbs.acceptance.lab.Operation.WRITE
import org.kverbs.acceptance.lab.Operation.WRITE_WITH_IMMEDIATE
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD

private const val GRH = 40

/** All nodes (RFC 4291): the only group that Linux has joined. */
private const val GROUP = "ff02::1"

/**
 * Checks the embedded device over IPv6: with Soft-RoCE, which sends no UDP checksum there, and with another embedded
 * device.
 */
internal class EmbeddedIpv6Spec :
    FunSpec({
        context("with Soft-RoCE, which sends no UDP checksum over IPv6") {
            for (direction in Direction.entries) {
                for (type in listOf(RC, UC)) {
                    test("should carry sends and writes by IPv6 on $type $direction") {
                        BothSides.linked(direction, type, ipv6 = true) {
                            for (size in sizes(type)) {
                                listOf(
                                    SEND,
                                    SEND_WITH_IMMEDIATE,
                                    WRITE,
                                    WRITE_WITH_IMMEDIATE,
                                ).forEach { carry(it, size) }
                            }
                        }
                    }
                }

                test("should read, compare and swap, and fetch and add by IPv6 $direction") {
                    BothSides.linked(direction, RC, ipv6 = true) {
                        listOf(0, 1, 4097, 1 shl 20).forEach { read(it) }
                        to.putLong(TARGET, 40)
                        val into = listOf(Piece(0, 8))
                        from.post(
                            listOf(
                                Request(1, FETCH_AND_ADD, into, at(0), number = 2),
                                Request(2, COMPARE_AND_SWAP, listOf(Piece(8, 8)), at(0), number = 42, swap = -5),
                            ),
                        )
                        val (added, swapped) = from.take(2)
                        added.shouldBe(1, FETCH_AND_ADD)
                        swapped.shouldBe(2, COMPARE_AND_SWAP)
                        listOf(from.long(0), from.long(8), to.long(TARGET)) shouldBe listOf(40L, 42L, -5L)
                    }
                }

                test("should fail a write with a wrong key by IPv6 $direction") {
                    BothSides.linked(direction, RC, ipv6 = true) {
                        val whole = RemoteMemory.parse(at(0))
                        val wrong = RemoteMemory(whole.address(), whole.length(), whole.rkey() xor 0x5500).toText()
                        from.post(listOf(Request(1, WRITE, listOf(Piece(0, 8)), wrong)))
                        from.take(1).single().status shouldBe REM_ACCESS_ERR
                    }
                }

                test("should carry datagrams by IPv6 $direction, and name the sender in the routing header") {
                    BothSides.linked(direction, UD, ipv6 = true) {
                        for (size in listOf(0, 1, 4096)) {
                            from.fill(Piece(0, size), seed = size)
                            to.receive(TARGET, listOf(Piece(TARGET, GRH + size)))
                            from.post(
                                listOf(
                                    Request(
                                        1,
                                        SEND_WITH_IMMEDIATE,
                                        listOf(Piece(0, size)).filter { size > 0 },
                                        word = -size,
                                    ),
                                ),
                            )
                            from.take(1).single().shouldBe(1, SEND)
                            to.take(1).single() shouldBe
                                Done(TARGET, SUCCESS, RECV, GRH + size.toLong(), -size, fromNumber, fromIpv6)
                            to.mismatch(Piece(TARGET + GRH, size), seed = size) shouldBe -1
                        }
                    }
                }

                test("should carry a datagram to a multicast group by IPv6 $direction") {
                    BothSides.linked(direction, UD, ipv6 = true) {
                        to.join(GROUP)
                        from.join(GROUP)
                        from.fill(Piece(0, 700), seed = 6)
                        to.receive(TARGET, listOf(Piece(TARGET, 1000)))
                        from.post(listOf(Request(1, SEND, listOf(Piece(0, 700)))))
                        from.take(1).single().shouldBe(1, SEND)
                        to.take(1).single().bytes shouldBe GRH + 700
                        to.mismatch(Piece(TARGET + GRH, 700), seed = 6) shouldBe -1
                    }
                }
            }
        }

        for (type in listOf(RC, UC)) {
            test("should carry sends, writes and reads by IPv6 between two processes with embedded devices on $type") {
                val (one, other) =
                    listOf(
                        SoftRoceWire.THERE_IPV6,
                        SoftRoceWire.ALSO_THERE_IPV6,
                    ).map { FarSide.running(it) }
                with(Linked(one, other, type, Patience())) {
                    for (size in sizes(type)) {
                        listOf(SEND, SEND_WITH_IMMEDIATE, WRITE, WRITE_WITH_IMMEDIATE).forEach { carry(it, size) }
                        if (type == RC) read(size)
                    }
                }
            }
        }
    })
