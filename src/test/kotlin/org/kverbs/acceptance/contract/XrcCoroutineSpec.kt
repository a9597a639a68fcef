package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.collections.shouldContainExactlyInAnyOrder
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.WorkCompletionException
import org.kverbs.acceptance.contract.Capability.ATOMICS
import org.kverbs.acceptance.contract.Capability.XRC
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.fetchAndAdd
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.read
import org.kverbs.coroutines.send
import org.kverbs.coroutines.srq
import org.kverbs.coroutines.write
import org.kverbs.dsl.RemoteSrq
import org.kverbs.dsl.XRC_SEND

/** Checks the suspend functions over extended reliable connections. */
internal class XrcCoroutineSpec :
    ContractSpec({
        case("should bring the messages of many clients to the services that they name", XRC) {
            context.completionDispatcher().use { dispatcher ->
                val domain = context.xrcDomain()
                val services = List(3) { dispatcher.srq(pd, domain) { maxWr(8) } }
                val memory = memory()
                val clients =
                    List(4) {
                        val client = dispatcher.qp(pd, XRC_SEND) { maxSendWr(4) }
                        val receiver = domain.queuePair()
                        client.connect(receiver.endpoint())
                        receiver.connect(client.endpoint())
                        client to receiver.number()
                    }
                val heard =
                    runBlocking {
                        val all =
                            services.mapIndexed { i, service ->
                                async { List(20) { service.receive(memory.slice(64L * i, 64)).queuePairNumber } }
                            }
                        for ((client, _) in clients) {
                            launch {
                                repeat(5) { services.forEach { client.send(memory.slice(4096, 64), it.remote()) } }
                            }
                        }
                        all.awaitAll()
                    }
                val expected = clients.flatMap { (_, number) -> List(5) { number } }
                heard.forEach { it shouldContainExactlyInAnyOrder expected }
            }
        }

        case("should write, read and count in the memory of the named queue's domain", XRC, ATOMICS) {
            context.completionDispatcher().use { dispatcher ->
                val domain = context.xrcDomain()
                val service = dispatcher.srq(pd, domain)
                val client = dispatcher.qp(pd, XRC_SEND)
                val receiver = domain.queuePair()
                client.connect(receiver.endpoint())
                receiver.connect(client.endpoint())
                val near = memory()
                val far = memory()
                near.put(pattern(5000))
                runBlocking {
                    client.write(near.slice(0, 5000), to = far.remote(), srq = service.remote(), offset = 8)
                    far.bytes(5000, 8) shouldBe pattern(5000)
                    client.read(far.remote(), into = near.slice(8000, 5000), srq = service.remote(), offset = 8)
                    near.bytes(5000, 8000) shouldBe pattern(5000)
                    client.fetchAndAdd(far.remote(), 3, service.remote()) shouldBe 0
                    client.fetchAndAdd(far.remote(), 3, service.remote()) shouldBe 3
                    shouldThrow<WorkCompletionException> { client.send(near.slice(0, 8), RemoteSrq(0xabcdef)) }
                }
            }
        }
    })
