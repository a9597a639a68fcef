package org.kverbs.samples.krpc

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.asFlow
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.runBlocking
import kotlinx.rpc.annotations.Rpc
import kotlinx.rpc.krpc.serialization.json.json
import kotlinx.rpc.registerService
import kotlinx.rpc.withService
import kotlinx.serialization.Serializable
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import org.kverbs.krpc.krpcClient
import org.kverbs.krpc.serveKrpc

/** A headline. */
@Serializable
public data class Headline(
    val topic: String,
    val text: String,
)

/** The service; both sides share only this interface. */
@Rpc
public interface News {
    public suspend fun latest(topic: String): Headline

    public fun archive(
        topic: String,
        count: Int,
    ): Flow<Headline>
}

/** Implements the service. */
public class Newsroom : News {
    override suspend fun latest(topic: String): Headline {
        require(topic != "weather") { "no weather today" }
        return Headline(topic, "all about $topic")
    }

    override fun archive(
        topic: String,
        count: Int,
    ): Flow<Headline> = (1..count).asFlow().map { Headline(topic, "page $it") }
}

/** Serves with the arguments `server 7471`; reads the news with `HOST 7471`. */
public fun main(arguments: Array<String>): Unit =
    runBlocking {
        val (host, port) = arguments
        if (host == "server") {
            rdmaServer(port.toInt()) { connection ->
                connection.serveKrpc({ serialization { json() } }) { registerService<News> { Newsroom() } }
            }
        }
        rdmaClient(host, port.toInt()) { connection ->
            connection.krpcClient({ serialization { json() } }) { client ->
                val news = client.withService<News>()
                println(news.latest("rdma").text)
                news.archive("rdma", 3).collect { println(it.text) }
            }
        }
    }
