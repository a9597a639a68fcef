package org.kverbs.acceptance.contract

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlin.time.Duration.Companion.seconds

/**
 * Checks clients whose devices begin messages without ending them. Each such message holds one of the receives that a
 * server's connections share, and there are more clients than receives at first. The receives are given back when the
 * clients have gone: they do not suffice for two such crowds.
 */
internal class HalfMessagesSpec :
    ContractSpec({
        // The packets are made by hand, for RoCEv2 over IPv4. Soft-RoCE takes none from the loopback interface.
        if (device.name == "embedded1") {
            case("should serve others while more clients than there are shared receives have begun a message") {
                besiege(settings = {
                    maxConnections(2 * CLIENTS)
                    channel { keepAlive(1.seconds) }
                }) {
                    repeat(2) {
                        val clients =
                            coroutineScope {
                                List(AT_A_TIME) {
                                    async(Dispatchers.IO) { List(CLIENTS / AT_A_TIME) { raw(receives = 0) } }
                                }.awaitAll().flatten()
                            }
                        HalfMessages(ip).use { half -> clients.forEach { half.begin(it.queuePair) } }
                        repeat(10) { ask() }
                        until("the clients are there still") { server.connections.size == CLIENTS + 1 }
                        clients.forEach { it.close() }
                        settle()
                    }
                }
            }
        }
    })

private const val AT_A_TIME = 8
private const val CLIENTS = 1040
