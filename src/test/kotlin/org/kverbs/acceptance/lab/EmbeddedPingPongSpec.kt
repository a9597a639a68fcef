package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import java.util.concurrent.TimeUnit

private const val MIB = 1 shl 20

/** Runs `kverbs pingpong` on the embedded device over UDP, with the ping-pongs of rdma-core on Soft-RoCE as peers. */
internal class EmbeddedPingPongSpec :
    FunSpec({
        val far by lazy { FarSide.running() }

        val sizes = mapOf(RC to listOf(1, 4096, MIB), UC to listOf(1, 4096, MIB), UD to listOf(1, 1024, 4096))
        val games =
            sizes.flatMap { (type, all) ->
                all.map {
                    Game(
                        type,
                        it,
                        iterations =
                            if (it == MIB) {
                                5
                            } else {
                                50
                            },
                        SoftRoceWire.device,
                    )
                }
            }

        for (game in games) {
            test("should play $game as the client of a C server${game.claim}") {
                val port = freePort()
                game.undisturbed {
                    game.c(port, events = false).use { c ->
                        awaitListener(port)
                        far.kverbs(game.ours() + "${SoftRoceWire.HERE}:$port").shouldHavePlayed(game)
                        c.shouldHavePlayed(game)
                    }
                }
            }

            test("should play $game as the server of a C client${game.claim}") {
                val port = freePort()
                game.undisturbed {
                    val server = inThread { far.kverbs(game.ours() + listOf("--listen", "-p", "$port")) }
                    awaitListener(port, of = "${far.pid}")
                    game.c(port, events = false, SoftRoceWire.THERE).use { it.shouldHavePlayed(game) }
                    server.join().shouldHavePlayed(game)
                }
            }
        }

        test("should play as a separate program that sleeps until there are completions") {
            val game = Game(RC, 4096, 50, SoftRoceWire.device)
            val port = freePort()
            val launcher = System.getProperty("kverbs.root") + "/kverbs"
            game.c(port, events = true).use { c ->
                awaitListener(port)
                val command = listOf(launcher) + game.ours() + listOf("-e", "${SoftRoceWire.HERE}:$port")
                val ours = SoftRoceWire.start(SoftRoceWire.ALSO_THERE, *command.toTypedArray())
                val text = ours.inputReader().readText()
                ours.waitFor(20, TimeUnit.SECONDS) shouldBe true
                (ours.exitValue() to text).shouldHavePlayed(game)
                c.shouldHavePlayed(game)
            }
        }
    })

private fun Game.ours() =
    listOf(
        "pingpong",
        "-d",
        "embedded0",
        "--type",
        type.name.lowercase(),
        "-s",
        "$size",
        "-n",
        "$iterations",
        "-c",
        "--timeout",
        "20",
    )

/** A message of many packets may overrun a socket on a busy machine: RC then sends again, which is not a defect. */
private val Game.losesNothing: Boolean get() = size < MIB

private val Game.claim: String get() = if (losesNothing) ", and send nothing twice" else ""

/** Plays, and checks that Soft-RoCE saw no packet lost or repeated, if the game permits that check. */
private fun Game.undisturbed(play: () -> Unit) {
    val before = SoftRoceWire.losses()
    play()
    if (losesNothing) withClue("packets of $this that Soft-RoCE counted") { SoftRoceWire.losses() shouldBe before }
}

private fun Pair<Int, String>.shouldHavePlayed(game: Game) =
    withClue(second) {
        first shouldBe 0
        second shouldContain "embedded0"
        second shouldContain "${game.bytes} bytes in "
        second shouldContain "${game.iterations} iters in "
    }
