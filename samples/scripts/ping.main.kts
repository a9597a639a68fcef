// A message from one queue pair to another and back: ./kverbs script samples/scripts/ping.main.kts [DEVICE]

import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.coroutines.*
import org.kverbs.dsl.*

openDevice(args.firstOrNull() ?: "embedded0").use { device ->
    val pd = device.protectionDomain()
    val dispatcher = device.completionDispatcher()
    val (alice, bob) = List(2) { dispatcher.qp(pd, RC) }
    alice.connect(bob.endpoint())
    bob.connect(alice.endpoint())

    val region = pd.memoryRegion(256) { access(LOCAL_WRITE) }
    val (question, heard, answer) = List(3) { region[it * 64L, 64] }
    runBlocking {
        launch {
            bob.receive(into = heard)
            bob.send(heard)
        }
        launch {
            alice.receive(into = answer)
            println("${device.device().name()}: ${answer.memory().getString(0)}")
        }
        question.memory().setString(0, "there and back again")
        alice.send(question)
    }
}
