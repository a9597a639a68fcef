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
 * allocates anything for the client. This does not protect the messages: RDMA encrypts nothing.
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
 * Opens a [vault] and returns its message.
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

/** Returns 8 bytes of time and 24 bytes of its HMAC. Only a program with the secret can compute the HMAC. */
internal fun ticket(
    secret: String,
    millis: Long,
): ByteArray {
    val time = ByteBuffer.allocate(Long.SIZE_BYTES).putLong(millis).array()
    val mac = Mac.getInstance("HmacSHA256").apply { init(SecretKeySpec(secret.encodeToByteArray(), algorithm)) }
    return time + mac.doFinal(time).copyOf(TICKET - time.size)
}

/**
 * Checks a ticket. A ticket is valid for half a minute, so that a ticket that was read on the network soon expires.
 */
private fun isGood(
    ticket: ByteArray,
    secret: String,
): Boolean {
    if (ticket.size < TICKET) return false
    val millis = ByteBuffer.wrap(ticket).getLong()
    return abs(System.currentTimeMillis() - millis) < 30_000 &&
        MessageDigest.isEqual(ticket.copyOf(TICKET), ticket(secret, millis))
}

/** The most bytes of private data in a request. */
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
