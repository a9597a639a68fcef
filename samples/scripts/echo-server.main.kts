// Sends every message back. The client is echo-client.main.kts, in another terminal or on another machine.
//   KVERBS_EMBEDDED=udp ./kverbs script samples/scripts/echo-server.main.kts [PORT]

val port = args.firstOrNull()?.toInt() ?: 7471
runBlocking {
    rdmaServer(port, onListening = { println("listening at port ${it.port}") }) { connection ->
        for (message in connection.incoming) connection.send(message)
    }
}
