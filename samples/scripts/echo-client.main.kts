// Sends a message to echo-server.main.kts, and prints what comes back.
//   KVERBS_EMBEDDED=udp ./kverbs script samples/scripts/echo-client.main.kts HOST [PORT]

val host = args.firstOrNull() ?: error("give the server's address")
val port = args.getOrNull(1)?.toInt() ?: 7471
runBlocking {
    rdmaClient(host, port) { connection ->
        connection.send("ping".encodeToByteArray())
        println(connection.receive().decodeToString())
    }
}
