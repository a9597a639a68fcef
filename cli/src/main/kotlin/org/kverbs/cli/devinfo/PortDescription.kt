package org.kverbs.cli.devinfo

import kotlinx.serialization.Serializable
import org.kverbs.Context
import org.kverbs.cli.text

/** A port in the JSON of `kverbs devinfo`. GIDs stand under their index, without the empty ones. */
@Serializable
internal class PortDescription(
    val number: Int,
    val state: String,
    val linkLayer: String,
    val maxMtu: Int,
    val activeMtu: Int,
    val maxMessageBytes: Long,
    val lid: Int,
    val smLid: Int,
    val width: String,
    val speed: String,
    val gids: Map<Int, String>,
) {
    companion object {
        fun of(
            context: Context,
            number: Int,
        ): PortDescription {
            val port = context.queryPort(number)
            return PortDescription(
                number = number,
                state = port.state().name,
                linkLayer = port.linkLayer().text(),
                maxMtu = port.maxMtu().bytes(),
                activeMtu = port.activeMtu().bytes(),
                maxMessageBytes = port.maxMessageSize(),
                lid = port.lid(),
                smLid = port.smLid(),
                width = port.widthText(),
                speed = port.speedText(),
                gids =
                    context
                        .queryGidTable()
                        .filter { it.port() == number }
                        .associate { it.index() to it.gid().toCompactString() },
            )
        }
    }
}
