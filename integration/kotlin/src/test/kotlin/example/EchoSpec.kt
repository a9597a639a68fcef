package example

import io.kotest.core.spec.style.FunSpec
import org.kverbs.embedded.Faults
import org.kverbs.testkit.connectedPair
import org.kverbs.testkit.kotest.LeakCheckExtension
import org.kverbs.testkit.shouldBeSuccessful
import org.kverbs.testkit.shouldHaveText

class EchoSpec :
    FunSpec({
        extension(LeakCheckExtension)

        test("should bring the message over a bad line") {
            connectedPair(Faults.BAD_LINE) { client, server ->
                server.postReceive(64)
                client.send("ping".encodeToByteArray())
                server.awaitReceive() shouldHaveText "ping"
                client.awaitSend().shouldBeSuccessful()
            }
        }
    })
