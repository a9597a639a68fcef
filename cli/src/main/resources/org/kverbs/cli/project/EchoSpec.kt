package example

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connectMessages
import org.kverbs.embedded.Faults
import org.kverbs.testkit.connectedHosts

class EchoSpec :
    FunSpec({
        test("should answer what was asked, over a bad line, too") {
            connectedHosts(Faults.BAD_LINE) { client, server ->
                server.bind(serverAddress(7471)).serve(backgroundScope) { echo(it) }
                ask(client.connectMessages(serverAddress(7471)), "ping") shouldBe "ping"
            }
        }
    })
