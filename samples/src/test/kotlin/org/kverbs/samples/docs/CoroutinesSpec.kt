package org.kverbs.samples.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.kverbs.coroutines.batch
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.fetchAndAdd
import org.kverbs.coroutines.postReceive
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.receive
import org.kverbs.coroutines.send
import org.kverbs.coroutines.write
import org.kverbs.dsl.LOCAL_WRITE
import org.kverbs.dsl.RC
import org.kverbs.dsl.REMOTE_ATOMIC
import org.kverbs.dsl.REMOTE_WRITE
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import org.kverbs.dsl.openDevice
import org.kverbs.dsl.write
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_LONG

/** The snippet of docs/coroutines.md, which [SnippetsSpec] compares with the page. */
class CoroutinesSpec :
    FunSpec({
        timeout = 60_000

        test("should write, count, ask and batch") {
            openDevice("embedded0").use { device ->
                val pd = device.protectionDomain()
                val mine = pd.memoryRegion(8192) { access(LOCAL_WRITE) }
                val theirs = pd.memoryRegion(8192) { access(LOCAL_WRITE, REMOTE_WRITE, REMOTE_ATOMIC) }
                val remoteMemory = theirs.remote()
                val (local, into, question) = List(3) { mine[it * 64L, 64] }
                val part = List(100) { mine[it * 64L, 64] }
                mine.memory().set(JAVA_LONG, 0, 41)
                device.completionDispatcher().use { others ->
                    val peer = others.qp(pd, RC)
                    val remote = peer.endpoint()
                    coroutineScope {
                        device.completionDispatcher().use { dispatcher ->
                            val qp = dispatcher.qp(pd, RC) { maxSendWr(100) } // as many requests at once
                            peer.connect(qp.endpoint())
                            launch {
                                peer.receive(theirs[4096, 64])
                                peer.send(theirs[0, 64])
                            }
                            qp.connect(remote)
                            qp.write(local, to = remoteMemory) // suspends until the peer's device has it
                            val before = qp.fetchAndAdd(remoteMemory, 1)
                            val answer = qp.postReceive(into) // posted now, before the peer can answer
                            qp.send(question)
                            answer.await()
                            before shouldBe 41
                            into.memory().get(JAVA_LONG, 0) shouldBe 42
                            mine.memory().fill(7)
                            // one completion for all
                            qp.batch { repeat(100) { write(part[it], to = remoteMemory, offset = it * 64L) } }
                        }
                    }
                }
                theirs.memory().get(JAVA_BYTE, 6399) shouldBe 7
                theirs.memory().get(JAVA_BYTE, 6400) shouldBe 0
            }
        }
    })
