// A message from one device to another and back: ./kverbs script samples/scripts/ping.main.kts [DEVICE [OTHER DEVICE]]

class End(
    val device: Context,
) {
    private val pd = device.protectionDomain()
    private val completions = device.completionQueue { entries(16) }
    private val region = pd.memoryRegion(128) { access(LOCAL_WRITE) }
    private val heard = region[64, 64]
    val queuePair = pd.qp(RC) { cq(completions) }

    fun listen() = queuePair.postReceive(into = heard)

    fun say(text: String) {
        region.memory().setString(0, text)
        queuePair.post { send(region[0, 64]) }
    }

    fun hear(): String {
        completions.await().single().orThrow()
        return heard.memory().getString(0)
    }
}

val names = if (args.isEmpty()) listOf("embedded0", "embedded1") else listOf(args.first(), args.last())
resourceScope {
    val (alice, bob) = names.map { End(own(openDevice(it))) }
    alice.queuePair.connect(bob.queuePair.endpoint())
    bob.queuePair.connect(alice.queuePair.endpoint())
    alice.listen()
    bob.listen()
    alice.say("there and back again")
    bob.say(bob.hear())
    println("${alice.device.device().name()}: ${alice.hear()}")
}
