package org.kverbs.samples

import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.security.MessageDigest
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec
import kotlin.math.abs

/**
 * Serves only clients that have the [secret]. The server decides by the private data of the request, before it
 * allocates anything for the client. It does not protect what is sent then: RDMA encrypts nothing.
 */
suspend fun vault(
    port: Int,
    secret: String,
    device: String? = null,
    onListening: (InetSocketAddress) -> Unit = {},
): Nothing =
    rdmaServer(port, device, { authorize { isGood(it.privateData, secret) } }, onListening) { connection ->
        connection.send("the gold is in the cellar".encodeToByteArray())
    }

/**
 * Asks a [vault] what it knows.
 *
 * @throws org.kverbs.cm.ConnectionRejectedException if the secret is wrong
 */
suspend fun openVault(
    host: String,
    port: Int,
    secret: String,
    device: String? = null,
): String =
    rdmaClient(host, port, device, { privateData(ticket(secret, System.currentTimeMillis())) }) { connection ->
        connection.receive().decodeToString()
    }

/** 8 bytes of time and 24 of its HMAC, which nobody can make without the secret. */
internal fun ticket(
    secret: String,
    millis: Long,
): ByteArray {
    val time = ByteBuffer.allocate(Long.SIZE_BYTES).putLong(millis).array()
    val mac = Mac.getInstance("HmacSHA256").apply { init(SecretKeySpec(secret.encodeToByteArray(), algorithm)) }
    return time + mac.doFinal(time).copyOf(TICKET - time.size)
}

/** A ticket is good for half a minute, so that one which somebody read on the network is soon worth nothing. */
private fun isGood(
    ticket: ByteArray,
    secret: String,
): Boolean {
    if (ticket.size < TICKET) return false
    val millis = ByteBuffer.wrap(ticket).getLong()
    return abs(System.currentTimeMillis() - millis) < 30_000 &&
        MessageDigest.isEqual(ticket.copyOf(TICKET), ticket(secret, millis))
}

/** Bytes of private data that a request has room for. */
private const val TICKET = 32

/**
 * Opens the vault with the right secret and with a wrong one, on the device that the argument names or on the first
 * one.
 */
fun main(args: Array<String>) =
    both(args.firstOrNull(), { name, onListening -> vault(0, "open sesame", name, onListening) }) { host, port, name ->
        println("$name: " + openVault(host, port, "open sesame", name))
        try {
            openVault(host, port, "open barley", name)
        } catch (_: ConnectionRejectedException) {
            println("$name: rejected with another secret")
        }
    }
