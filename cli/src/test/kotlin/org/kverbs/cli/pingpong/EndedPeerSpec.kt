package org.kverbs.cli.pingpong

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.Context
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairType
import org.kverbs.cli.Outcome
import org.kverbs.cli.perf.freePort
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.poll
import org.kverbs.dsl.post
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.send
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds

private val RULES = PingPongOptions(size = 64, iterations = 1000, warmUp = 0)
private const val COMMAND = "pingpong -s 64 -n 1000 --warm-up 0"

/** A client whose server has gone after some messages, or before the first. */
internal class EndedPeerSpec :
    FunSpec({
        for (waiting in listOf("", " --poll", " --events")) {
            test("should say that the peer does not answer any more, when it has before:$waiting") {
                val outcome = clientOfServerThatAnswers(2, waiting)
                outcome.status shouldBe 1
                outcome.err shouldStartWith
                    "kverbs: the peer at 127.0.0.1 does not answer any more, after 3 messages posted, 2 sent and 2 " +
                    "received of 1000: it was ended or stopped, or the network to it is down"
            }

            test("should give the advice on the set-up when the peer has never answered:$waiting") {
                val outcome = clientOfServerThatAnswers(0, waiting)
                outcome.status shouldBe 1
                outcome.err shouldContain "IBV_WC_RETRY_EXC_ERR"
            }
        }
    })

/** Returns what a client says whose server answers so many messages, and has no queue pair any more afterwards. */
private fun clientOfServerThatAnswers(
    messages: Int,
    waiting: String,
): Outcome {
    val net = "127.${Random.nextInt(100, 250)}.${Random.nextInt(250)}"
    val port = freePort()
    val listening = CompletableFuture<Unit>()
    val server =
        CompletableFuture.runAsync {
            val place = Peer.Client(port, LOOPBACK)
            Transport.Udp("$net.1").devices().single().open().use { device ->
                Handshake.accept(place, 30.seconds) { listening.complete(Unit) }.use { device.answer(it, messages) }
            }
        }
    CompletableFuture.anyOf(listening, server).get(30, SECONDS)
    val words = "$COMMAND$waiting --transport udp:$net.2 -p $port $LOOPBACK".split(' ')
    return Outcome(*words.toTypedArray()).also { server.get(30, SECONDS) }
}

/** Answers so many messages. It has no receive for another, which its device does not acknowledge therefore. */
private fun Context.answer(
    handshake: Handshake,
    messages: Int,
) {
    val pd = protectionDomain()
    val memory = pd.memoryRegion(64) { access(LOCAL_WRITE) }
    val cq = completionQueue { entries(8) }
    val qp =
        pd.qp {
            type(QueuePairType.RC)
            cq(cq)
            maxSendWr(1)
            maxRecvWr(4)
        }
    qp.init(ConnectOptions.DEFAULTS)
    repeat(messages) { qp.postReceive(memory.slice(), id = 1) }
    handshake.asServer(qp.endpoint(), RULES.rules()) { qp.connect(it) }
    var completed = 0
    while (completed < 2 * messages) {
        cq.poll(limit = 8) {
            it.orThrow()
            completed++
            if (it.workRequestId() == 1L) qp.post { send(memory.slice(), id = 2).signaled() }
        }
    }
}
