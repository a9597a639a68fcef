// A server that shares memory by name, and a client that reads and changes it without waking the server:
//   ./kverbs script samples/scripts/service.main.kts [DEVICE ADDRESS]

val device = args.getOrElse(0) { "embedded0" }
val address = args.getOrElse(1) { "198.18.0.1" }

runBlocking(Dispatchers.Default) {
    val port = CompletableDeferred<Int>()
    val server =
        launch {
            rdmaServer(0, device, onListening = { port.complete(it.port) }) { connection ->
                val board =
                    connection.publish("board", 64, REMOTE_READ, REMOTE_WRITE) { setString(0, "Nobody was here") }
                for (message in connection.incoming) {
                    connection.send("It says: ${board.memory.getString(0)}".encodeToByteArray())
                }
            }
        }
    rdmaClient(address, port.await(), device) { connection ->
        val board = connection.awaitRemote("board")
        println("$device: " + board.read(0, 15).decodeToString())
        board.write("Kilroy was here\u0000".encodeToByteArray())
        connection.send("What does it say?".encodeToByteArray())
        println("$device: " + connection.receive().decodeToString())
    }
    server.cancel()
}
