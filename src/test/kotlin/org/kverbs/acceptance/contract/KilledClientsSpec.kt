package org.kverbs.acceptance.contract

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import java.net.InetSocketAddress
import java.nio.file.Path
import kotlin.random.Random
import kotlin.time.Duration.Companion.minutes

/**
 * Kills processes of five connections each: 10 in the unit lane, 6 for each device in the lab, where a start takes
 * seconds, or the number in the system property hostile.kills. `coroutines/storm kills` kills 200, in about five
 * minutes.
 */
internal class KilledClientsSpec :
    ContractSpec({
        val isNative = device.provider == "native"
        val kills = System.getProperty("hostile.kills")?.toInt() ?: if (isNative) 6 else 10

        // A process cannot reach the embedded device within this JVM. On UDP it needs its own address, and IPv6 has
        // only one.
        if (isNative || device.name == "embedded1") {
            case(
                "should hold nothing of clients that were killed at any point",
                // A round takes half a minute in the lab on a busy machine, and a siege may take 26 of them.
                timeout = (15 + kills / 4).minutes,
            ) {
                val random = Random(kills)
                siege(rounds = kills / AT_ONCE, handler = { connection ->
                    connection.publish(VAULT, connection.pd.memoryRegion(100_000L, *FULL_ACCESS))
                    for (message in connection.incoming) connection.send(message)
                }) { round ->
                    val plans = List(AT_ONCE) { Plan(round * AT_ONCE + it, random.nextInt(4) > 0, random.nextLong(30)) }
                    coroutineScope {
                        plans
                            .mapIndexed { place, plan -> async(Dispatchers.IO) { startAndKill(address, place, plan) } }
                            .awaitAll()
                    }
                }
            }
        }
    })

private const val AT_ONCE = 2

/** The moment of a kill: this many milliseconds after the client was answered, or after it began to connect. */
private class Plan(
    val seed: Int,
    val isAnswered: Boolean,
    val millis: Long,
)

private fun Bench.startAndKill(
    server: InetSocketAddress,
    place: Int,
    plan: Plan,
) {
    val process = client(server, place, plan.seed)
    try {
        val last = if (plan.isAnswered) KilledClientProgram.ANSWERED else KilledClientProgram.CONNECTING
        val said = ArrayList<String>()
        process.inputReader().let { reader ->
            while (last !in said) {
                said += checkNotNull(reader.readLine()) { "a client ended before it said '$last': $said" }
            }
        }
        Thread.sleep(plan.millis)
    } finally {
        process.destroyForcibly().waitFor() // kill -9
    }
}

private fun Bench.client(
    server: InetSocketAddress,
    place: Int,
    seed: Int,
): Process {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
    val fast = listOf("-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+UseSerialGC", "-Xmx128m")
    val options = listOf("--enable-native-access=ALL-UNNAMED", "-Dkverbs.embedded=${neighbour(place)}")
    val program = listOf("-cp", System.getProperty("java.class.path"), KilledClientProgram::class.java.name)
    val arguments = listOf(device.provider, server.address.hostAddress, "${server.port}", "$seed")
    return ProcessBuilder(listOf(java) + fast + options + program + arguments).redirectErrorStream(true).start()
}

/** The embedded device of a client, with an address that no other test uses. */
private fun Bench.neighbour(place: Int): String {
    if (device.provider == "native") return "none"
    val (first, second, third) = ip.split('.')
    return "udp:$first.$second.${third.toInt() xor 1}.${place + 1}"
}
