package org.kverbs.serialization

import kotlinx.serialization.KSerializer
import kotlinx.serialization.Serializable
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.PrimitiveSerialDescriptor
import kotlinx.serialization.encoding.Decoder
import kotlinx.serialization.encoding.Encoder

/** A value whose serializer throws. */
@Serializable(with = Broken.Serializer::class)
internal data class Broken(
    val text: String,
) {
    object Serializer : KSerializer<Broken> {
        override val descriptor = PrimitiveSerialDescriptor("broken", PrimitiveKind.STRING)

        override fun serialize(
            encoder: Encoder,
            value: Broken,
        ) = error("no ${value.text} goes out")

        override fun deserialize(decoder: Decoder): Broken = error("no ${decoder.decodeString()} comes in")
    }
}
