package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.yield
import java.net.InetAddress
import kotlin.time.Duration.Companion.seconds

private val CROWD = InetAddress.ofLiteral("10.0.0.1")
private val OTHER = InetAddress.ofLiteral("10.0.0.2")

class HalfOpenSpec :
    FunSpec({
        timeout = 60_000

        fun CoroutineScope.asking(
            halfOpen: HalfOpen,
            source: InetAddress,
            block: suspend () -> Unit = { awaitCancellation() },
        ): Deferred<Result<Boolean>> =
            async(start = CoroutineStart.UNDISPATCHED) {
                runCatching { halfOpen.inPlace(source, block) }
            }

        test("should prefer clients of the address with the fewest places") {
            runBlocking {
                val halfOpen = HalfOpen { 2 }
                val order = ArrayList<String>()
                val inside = List(2) { asking(halfOpen, CROWD) }
                val waiting =
                    List(3) { asking(halfOpen, CROWD) { order += "crowd" } } +
                        asking(halfOpen, OTHER) { order += "other" }
                halfOpen.count shouldBe 2
                inside.forEach { it.cancelAndJoin() }
                waiting.forEach { it.await() }
                order shouldContainExactly listOf("other", "crowd", "crowd", "crowd")
                halfOpen.count shouldBe 0
            }
        }

        test(
            "should give the oldest place of a crowded address to a client that has waited, and tell the client that " +
                "lost it",
        ) {
            runBlocking {
                val halfOpen = HalfOpen { 3 }
                val crowd = List(3) { asking(halfOpen, CROWD) }
                asking(halfOpen, OTHER) {}.await().isSuccess shouldBe true
                val lost = crowd.single { it.isCompleted }.await().exceptionOrNull()
                (lost as CancellationException).message shouldContain "10.0.0.1 was dismissed"
                crowd.forEach { it.cancelAndJoin() }
                halfOpen.count shouldBe 0
            }
        }

        test("should limit the waiting clients of a crowded address, and not let them keep out others") {
            runBlocking {
                val halfOpen = HalfOpen { 1 }
                val inside = asking(halfOpen, OTHER)
                val crowd = List(3000) { asking(halfOpen, CROWD) }
                val other = asking(halfOpen, OTHER) {}
                withTimeout(20.seconds) { while (crowd.count { it.isActive } > 1024) yield() }
                inside.cancelAndJoin()
                crowd.forEach { it.cancelAndJoin() }
                other.await().isSuccess shouldBe true
            }
        }
    })
