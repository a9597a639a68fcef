package org.kverbs.serialization

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.flow.toList
import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.cbor.ByteString
import kotlinx.serialization.encodeToByteArray
import kotlinx.serialization.protobuf.ProtoBuf
import org.kverbs.coroutines.ChannelClosedException

class TypedConnectionSpec :
    FunSpec({
        timeout = 60_000

        for ((name, format) in mapOf("CBOR" to DefaultFormat, "ProtoBuf" to ProtoBuf.Default)) {
            test("should carry values of a sealed type in both directions as $name") {
                val shapes =
                    listOf(
                        Shape.Circle(3),
                        Shape.Path(List(5000) { it * 1_000_003L }, "long"),
                        Shape.Group(listOf(Shape.Circle(1), Shape.Group(emptyList())), mapOf("red" to 1, "blue" to -2)),
                        Shape.Path(emptyList()),
                    )
                val echoed =
                    served({ connection ->
                        val typed = connection.typed<Shape, Shape>(format)
                        typed.incoming.collect { typed.send(it) }
                    }) { connection ->
                        val typed = connection.typed<Shape, Shape>(format)
                        shapes.map {
                            typed.send(it)
                            typed.receive()
                        }
                    }
                echoed shouldBe shapes
            }
        }

        test("should end the flow of values when the peer has sent its last message") {
            val areas =
                served({ connection ->
                    val typed = connection.typed<Shape, Area>()
                    repeat(10) { typed.send(Area(it)) }
                }) { connection -> connection.typed<Area, Shape>().incoming.toList() }
            areas shouldBe List(10) { Area(it) }
        }

        test("should report the end of the messages by null or by an exception") {
            served({}) { connection ->
                val typed = connection.typed<Area, Area>()
                typed.receiveOrNull() shouldBe null
                shouldThrow<ChannelClosedException> { typed.receive() }
            }
        }

        test("should name the type and the length of a message that cannot be decoded, and go on") {
            served({ connection ->
                connection.send(byteArrayOf(1, 2, 3))
                connection.typed<Area, Shape>().send(Shape.Circle(2))
                connection.typed<Shape, Area>().send(Area(4))
            }) { connection ->
                val typed = connection.typed<Area, Area>()
                val failure = shouldThrow<MessageDecodingException> { typed.receive() }
                failure.type shouldContain "Area"
                failure.length shouldBe 3
                failure.message shouldContain "message of 3 bytes is no org.kverbs.serialization.Area"
                shouldThrow<MessageDecodingException> { typed.receiveOrNull() }
                typed.receive() shouldBe Area(4)
            }
        }

        test("should read the value of a newer peer that has unknown fields") {
            @Serializable
            @SerialName("area")
            class NewArea(
                val square: Int,
                val unit: Map<String, List<String>>,
                val note: String,
            )
            DefaultFormat.decode(
                Area.serializer(),
                DefaultFormat.encodeToByteArray(NewArea(3, mapOf("m" to listOf("a", "b")), "n")),
            ) shouldBe Area(3, "n")
        }

        test("should encode byte arrays as byte strings") {
            @Serializable
            class Block(
                @ByteString val bytes: ByteArray,
            )
            (DefaultFormat.encodeToByteArray(Block(ByteArray(1000) { -1 })).size < 1020) shouldBe true
        }

        test("should report a message that is nested too deep as undecodable") {
            @Serializable
            class Nest(
                val inner: List<Nest>,
            )
            val bytes = ByteArray(2_000_000)
            // {"inner": [{"inner": [ ...
            val level = byteArrayOf(0xa1.toByte(), 0x65) + "inner".encodeToByteArray() + 0x81.toByte()
            for (i in bytes.indices) bytes[i] = level[i % level.size]
            shouldThrow<MessageDecodingException> { DefaultFormat.decode(Nest.serializer(), bytes) }
                .cause
                .shouldBeInstanceOf<StackOverflowError>()
        }

        test("should fail the sender of a value that cannot be encoded, and send nothing") {
            val received = CompletableDeferred<List<Area>>()
            served({ received.complete(it.typed<Area, Area>().incoming.toList()) }) { connection ->
                shouldThrow<IllegalStateException> { connection.typed<Area, Broken>().send(Broken("x")) }
                connection.typed<Area, Area>().send(Area(1))
            }
            received.await() shouldBe listOf(Area(1))
        }
    })
