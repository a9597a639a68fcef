package org.kverbs.embedded.cm

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.cm.ConnectionEventType

private const val DATAGRAMS = 100_000
private const val EACH = 10_000

class FuzzedConnectionsSpec :
    FunSpec({
        test(
            "should take $DATAGRAMS random datagrams of a peer without a crash, an answer too many, or a leak",
        ) {
            val seen = mutableSetOf<ConnectionEventType>()
            var answers = 0
            for (seed in 1L..(DATAGRAMS / EACH)) {
                FuzzedPeer(seed).use { peer ->
                    withClue("seed $seed") {
                        while (peer.sent < EACH) peer.step()
                        peer.leftovers() shouldBe listOf(0, 0, 0, 0)
                    }
                    seen += peer.events().keys.map(ConnectionEventType::of)
                    answers += peer.answers
                }
            }
            // Without these events the datagrams were only noise.
            seen shouldContainAll
                listOf(
                    ConnectionEventType.CONNECT_REQUEST,
                    ConnectionEventType.CONNECT_RESPONSE,
                    ConnectionEventType.ESTABLISHED,
                    ConnectionEventType.REJECTED,
                    ConnectionEventType.UNREACHABLE,
                    ConnectionEventType.DISCONNECTED,
                    ConnectionEventType.TIMEWAIT_EXIT,
                )
            answers shouldBeGreaterThan DATAGRAMS / 10
        }
    })
