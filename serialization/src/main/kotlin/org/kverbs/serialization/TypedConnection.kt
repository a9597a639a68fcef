package org.kverbs.serialization

import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.serialization.BinaryFormat
import kotlinx.serialization.KSerializer
import kotlinx.serialization.serializer
import org.kverbs.coroutines.ChannelClosedException
import org.kverbs.coroutines.MessageConnection

/**
 * Sends and receives values of serializable types over a [MessageConnection], one value in each message.
 *
 * ```
 * @Serializable data class Order(val item: String, val count: Int)
 * @Serializable data class Receipt(val total: Int)
 *
 * rdmaServer(7471) { connection ->
 *     val orders = connection.typed<Order, Receipt>()
 *     orders.incoming.collect { orders.send(Receipt(it.count * 3)) }
 * }
 *
 * rdmaClient("server", 7471) { connection ->
 *     val orders = connection.typed<Receipt, Order>()
 *     orders.send(Order("bolt", 12))
 *     println(orders.receive().total)
 * }
 * ```
 *
 * For waiting, cancellation and the errors of the connection see [MessageConnection]. Any thread can call, and any
 * number of coroutines can send and receive at the same time.
 *
 * @param In the type of the peer's values
 * @param Out the type of this side's values
 * @property connection the connection below; its own send and receive use no types
 */
public class TypedConnection<In : Any, Out : Any>(
    public val connection: MessageConnection,
    private val incomingType: KSerializer<In>,
    private val outgoingType: KSerializer<Out>,
    private val format: BinaryFormat = DefaultFormat,
) {
    /**
     * The values from the peer, as a cold flow. The flow ends when the peer has sent its last message. It fails with a
     * [MessageDecodingException] if a message is not an [In], and with the connection's failure. Several collectors
     * share the messages.
     */
    public val incoming: Flow<In> = flow { while (true) emit(receiveOrNull() ?: break) }

    /**
     * Sends a value as one message; see [MessageConnection.send].
     *
     * @throws kotlinx.serialization.SerializationException if the value cannot be encoded; nothing is sent then
     * @throws IllegalArgumentException if the message is longer than the peer takes
     */
    public suspend fun send(value: Out): Unit = connection.send(format.encodeToByteArray(outgoingType, value))

    /**
     * Receives a value; suspends until there is one.
     *
     * @throws MessageDecodingException if the message is not an [In]; the next call receives the next message
     * @throws ChannelClosedException if the peer has sent its last message
     */
    public suspend fun receive(): In = format.decode(incomingType, connection.receive())

    /** Receives a value as [receive] does, or returns null if the peer has sent its last message. */
    public suspend fun receiveOrNull(): In? {
        val message = connection.receiveOrNull() ?: return null
        return format.decode(incomingType, message)
    }

    /** Names the peer, and the types in both directions. */
    override fun toString(): String =
        "typed $connection, in ${incomingType.descriptor.serialName}, out ${outgoingType.descriptor.serialName}"
}

/**
 * Returns this connection with types: `connection.typed<Request, Response>()` on a server receives requests and sends
 * responses, and `typed<Response, Request>()` on a client does the reverse. Use a sealed interface for several kinds of
 * messages; give its classes a [kotlinx.serialization.SerialName], otherwise each message contains the full class name.
 *
 * @param In the type of the peer's values
 * @param Out the type of this side's values
 * @param format the format, the same on both sides; for example ProtoBuf of kotlinx-serialization-protobuf
 * @throws kotlinx.serialization.SerializationException if a type is not serializable
 */
public inline fun <reified In : Any, reified Out : Any> MessageConnection.typed(
    format: BinaryFormat = DefaultFormat,
): TypedConnection<In, Out> = TypedConnection(this, serializer<In>(), serializer<Out>(), format)
