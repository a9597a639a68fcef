// Ten coroutines count to a thousand in memory that is not theirs: ./kverbs script samples/scripts/counter.main.kts
// [DEVICE]

openDevice(args.firstOrNull() ?: "embedded0").use { device ->
    val pd = device.protectionDomain()
    val counter = pd.memoryRegion(8) { access(LOCAL_WRITE, REMOTE_ATOMIC) }
    val dispatcher = device.completionDispatcher()
    val (near, far) = List(2) { dispatcher.qp(pd, RC) }
    near.connect(far.endpoint())
    far.connect(near.endpoint())

    val tickets =
        runBlocking {
            List(10) { async { List(100) { near.fetchAndAdd(counter.remote(), 1) } } }.awaitAll().flatten()
        }
    println("${device.device().name()}: ${tickets.toSet().size} tickets, all different, up to ${tickets.max()}")
}
