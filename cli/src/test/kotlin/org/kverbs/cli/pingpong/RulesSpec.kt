package org.kverbs.cli.pingpong

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.property.Arb
import io.kotest.property.arbitrary.bind
import io.kotest.property.arbitrary.boolean
import io.kotest.property.arbitrary.element
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.string
import io.kotest.property.checkAll
import org.kverbs.attributes.QueuePairType
import org.kverbs.cli.kverbs
import java.net.ServerSocket
import java.util.concurrent.CompletableFuture
import java.util.concurrent.TimeUnit.SECONDS

private val rules =
    Arb.bind(
        Arb.element(QueuePairType.RC, QueuePairType.UC, QueuePairType.UD),
        Arb.int(1..(1 shl 30)),
        Arb.element(0, 256, 4096),
        Arb.int(1..999_999_999),
        Arb.int(0..999_999_999),
        Arb.boolean(),
        ::Rules,
    )

/** The exit status of a command, and its errors. */
private fun play(arguments: List<String>): Pair<Int, String> {
    val errors = StringBuilder()
    return kverbs(arguments, StringBuilder(), errors) to errors.toString()
}

class RulesSpec :
    FunSpec({
        test("should read what it wrote") {
            checkAll(rules) { Rules.parse(it.toLine().removeSuffix("\n")) shouldBe it }
        }

        test("should write lines that a reader takes whole") {
            checkAll(rules) { (it.toLine().length <= Rules.MOST) shouldBe true }
        }

        test("should take other lines for none of its own") {
            checkAll(Arb.string()) { Rules.parse(it).shouldBeNull() }
            Rules.parse("kverbs type=rc size=9999999999 mtu=1024 iters=1 warm-up=0 chk=off").shouldBeNull()
        }

        test("should name each option that differs, with both values") {
            val ours = PingPongOptions(size = 200, iterations = 5).rules()
            ours.requireSame(ours.copy())
            shouldThrow<PingPongException> { ours.requireSame(ours.copy(size = 100, check = true)) }.message shouldBe
                "the two ends differ: --size is 200 here and 100 at the peer, --chk is off here and on at the peer; " +
                "give both the same"
        }

        listOf(
            Triple(listOf("-s", "1MiB"), "--size is 1048576 here and 4096", "--size is 4096 here and 1048576"),
            Triple(listOf("--type", "uc"), "--type is uc here and rc", "--type is rc here and uc"),
            Triple(listOf("-n", "7"), "--iters is 7 here and 5", "--iters is 5 here and 7"),
        ).forEach { (options, ours, theirs) ->
            test("should tell both ends at once that ${options.joinToString(" ")} is one end's alone") {
                val port = ServerSocket(0).use { it.localPort }
                val usual = listOf("pingpong", "-n", "5", "--transport")
                val listen = usual + listOf("udp:127.9.8.2", "--listen", "-p", "$port")
                val server = CompletableFuture.supplyAsync { play(listen) }
                val client =
                    generateSequence { play(usual + "udp:127.9.8.1" + "127.9.8.2:$port" + options) }
                        .first { (_, errors) -> "no server answers" !in errors }
                client shouldBe (1 to "kverbs: the two ends differ: $ours at the peer; give both the same\n")
                server.get(30, SECONDS) shouldBe
                    (1 to "kverbs: the two ends differ: $theirs at the peer; give both the same\n")
            }
        }
    })
