package org.kverbs.cli.pingpong

import io.kotest.assertions.withClue
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
import kotlin.concurrent.thread
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

private val RULES = PingPongOptions(size = 64, iterations = 1000, warmUp = 0)
private const val COMMAND = "pingpong -s 64 -n 1000 --warm-up 0"

/** A client whose server has gone after some messages or before the first, and a server whose client has gone. */
internal class EndedPeerSpec :
    FunSpec({
        for (waiting in listOf("", " --poll", " --events")) {
            test("should say that the peer does not answer any more, when it has before:$waiting") {
                val outcome = clientOfServerThatAnswers(2, waiting)
                outcome.status shouldBe 1
                outcome.err shouldStartWith
                    "kverbs: the peer at 127.0.0.1 does not answer any more, after 3 messages posted, 2 sent and 2 " +
                    "received of 1000: it ended or was stopped, has other options than this end, or the network to " +
                    "it is down"
            }

            test("should give the advice on the set-up when the peer has never answered:$waiting") {
                val outcome = clientOfServerThatAnswers(0, waiting)
                outcome.status shouldBe 1
                outcome.err shouldContain "IBV_WC_RETRY_EXC_ERR"
            }

            test("should give the advice on the set-up when the peer has asked, and no answer reaches it:$waiting") {
                val outcome = serverOfClientThatAsks(waiting)
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
    val net = network()
    val port = freePort()
    val listening = CompletableFuture<Unit>()
    val server =
        inBackground {
            val place = Peer.Client(port, LOOPBACK)
            Transport.Udp("$net.1").devices().single().open().use { device ->
                Handshake.accept(place, 30.seconds) { listening.complete(Unit) }.use { device.answer(it, messages) }
            }
        }
    CompletableFuture.anyOf(listening, server).get(30, SECONDS)
    val words = "$COMMAND$waiting --transport udp:$net.2 -p $port $LOOPBACK".split(' ')
    return Outcome(*words.toTypedArray()).also { withClue(it) { server.get(30, SECONDS) } }
}

/** Returns what a server says whose client sends a message, and has no queue pair any more when the answer comes. */
private fun serverOfClientThatAsks(waiting: String): Outcome {
    val net = network()
    val port = freePort()
    val client = inBackground { Transport.Udp("$net.1").devices().single().open().use { it.ask("$net.2", port) } }
    val words = "$COMMAND$waiting --transport udp:$net.2 -p $port --listen".split(' ')
    return Outcome(*words.toTypedArray()).also { withClue(it) { client.get(30, SECONDS) } }
}

private fun network() = "127.${Random.nextInt(100, 250)}.${Random.nextInt(250)}"

/** Runs the block on a thread of its own: those of the common pool are needed by other specs. */
private fun inBackground(block: () -> Unit): CompletableFuture<Unit> {
    val done = CompletableFuture<Unit>()
    thread(isDaemon = true) { runCatching(block).fold(done::complete, done::completeExceptionally) }
    return done
}

/** A queue pair with the memory and the completion queue of a ping-pong of 64 bytes. */
private class Bare(
    device: Context,
) {
    private val pd = device.protectionDomain()
    private val memory = pd.memoryRegion(64) { access(LOCAL_WRITE) }
    private val cq = device.completionQueue { entries(8) }
    val qp =
        pd.qp {
            type(QueuePairType.RC)
            cq(cq)
            maxSendWr(1)
            maxRecvWr(4)
        }

    init {
        qp.init(ConnectOptions.DEFAULTS)
    }

    fun receive() = qp.postReceive(memory.slice(), id = RECEIVE)

    fun send() = qp.post { send(memory.slice(), id = SEND).signaled() }

    /** Takes so many completions, and answers each message that came. */
    fun play(completions: Int) {
        val began = TimeSource.Monotonic.markNow()
        var completed = 0
        while (completed < completions) {
            check(began.elapsedNow() < 20.seconds) { "$completed of $completions completions within 20 s" }
            cq.poll(limit = 8) {
                it.orThrow()
                completed++
                if (it.workRequestId() == RECEIVE) send()
            }
        }
    }

    private companion object {
        const val RECEIVE = 1L
        const val SEND = 2L
    }
}

/** Answers so many messages. It has no receive for another, so its device does not acknowledge that. */
private fun Context.answer(
    handshake: Handshake,
    messages: Int,
) {
    val end = Bare(this)
    repeat(messages) { end.receive() }
    handshake.asServer(end.qp.endpoint(), RULES.rules()) { end.qp.connect(it) }
    end.play(completions = 2 * messages)
}

/** Sends a message to a server, and has no receive for its answer. */
private fun Context.ask(
    host: String,
    port: Int,
) {
    val end = Bare(this)
    val (remote) = meet(host, port).use { it.asClient(end.qp.endpoint(), RULES.rules()) }
    end.qp.connect(remote)
    end.send()
    end.play(completions = 1)
}

/** Connects as soon as there is a server. */
private fun meet(
    host: String,
    port: Int,
): Handshake {
    val began = TimeSource.Monotonic.markNow()
    while (true) {
        try {
            return Handshake.connect(host, port, 30.seconds)
        } catch (e: PingPongException) {
            if (began.elapsedNow() > 20.seconds) throw e
            Thread.sleep(20)
        }
    }
}
