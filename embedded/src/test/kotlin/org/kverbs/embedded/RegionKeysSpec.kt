package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeUnique
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import org.kverbs.RdmaException
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_OP_ERR
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.embedded.Semantics.RXE

/**
 * Checks a region's two keys: the lkey for this side, the rkey for the peer. Programs that mix them up work on
 * Soft-RoCE, but not on every card.
 */
class RegionKeysSpec :
    FunSpec({
        test("should give a region two keys, and no number twice") {
            End(EmbeddedFabric.virtual(1).addDevice(), org.kverbs.attributes.QueuePairType.RC, 64).use { end ->
                val regions = List(500) { end.pd.memoryRegion(8, LOCAL_WRITE) }
                val keys = regions.flatMap { listOf(it.lkey(), it.rkey()) }
                keys.shouldBeUnique()
                // One key must not predict the next.
                keys.zipWithNext().count { (one, next) -> Math.abs(next.toLong() - one) < 1000 } shouldBe 0
            }
        }

        test("should refuse an rkey in an entry of this side") {
            Pair(EmbeddedFabric.virtual(1)).use { (a, b) ->
                a.post { write(1, b.mr.remote()).entry(a.mr.address(), 8, a.mr.rkey()).signaled() }
                a.take(1).single().status() shouldBe LOC_PROT_ERR
            }
        }

        test("should refuse an rkey in a receive") {
            Pair(EmbeddedFabric.virtual(1)).use { (a, b) ->
                b.qp.postReceive(org.kverbs.ReceiveRequests().receive(1).into(b.mr.address(), 8, b.mr.rkey()))
                a.post { send(1).inline(byteArrayOf(1)).signaled() }
                b.take(1).single().status() shouldBe LOC_PROT_ERR
                a.take(1).single().status() shouldBe REM_OP_ERR
            }
        }

        test("should refuse an lkey that a peer uses") {
            Pair(EmbeddedFabric.virtual(1)).use { (a, b) ->
                a.post { write(1, b.mr.address(), b.mr.lkey()).from(a.mr.slice(0, 8)).signaled() }
                a.take(1).single().status() shouldBe REM_ACCESS_ERR
            }
        }

        test("should have one key for both uses by the semantics of rxe") {
            Pair(EmbeddedFabric.virtual(1), semantics = RXE).use { (a, b) ->
                b.mr.lkey() shouldBe b.mr.rkey()
                b.mr.lkey() shouldNotBe a.mr.lkey()
            }
        }

        test("should read the semantics of the process's devices from the property") {
            val property = "kverbs.embedded.semantics"

            fun keysDiffer(): Boolean {
                val device = EmbeddedProvider("memory").let { org.kverbs.Device.of(it, it.devices().first()) }
                return device.open().use { context ->
                    context.protectionDomain().memoryRegion(8, LOCAL_WRITE).let { it.lkey() != it.rkey() }
                }
            }

            val before = System.getProperty(property)
            try {
                System.clearProperty(property)
                keysDiffer() shouldBe true
                System.setProperty(property, "rxe")
                keysDiffer() shouldBe false
                System.setProperty(property, "mlx6")
                shouldThrow<RdmaException> { keysDiffer() }.message shouldBe
                    "the property kverbs.embedded.semantics, or else the environment's KVERBS_EMBEDDED_SEMANTICS, " +
                    "is 'mlx6': use strict or rxe"
            } finally {
                if (before == null) System.clearProperty(property) else System.setProperty(property, before)
            }
        }
    })
