package org.kverbs.ibtool.decode

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.offerVersion
import org.kverbs.ibtool.session.pretty
import org.kverbs.ibtool.session.printable
import org.kverbs.management.DecodedMad
import org.kverbs.management.decode
import org.kverbs.structures.toJson
import java.io.BufferedInputStream
import java.io.InputStream
import java.nio.file.Files
import java.nio.file.Path

/**
 * `decode_mad`: what management datagrams say, in files of hexadecimal digits or of packets.
 *
 * @param standardInput what `-` reads
 */
internal class DecodeMadCommand(
    private val standardInput: InputStream = System.`in`,
) : CoreCliktCommand("decode_mad") {
    private val isJson by option("--json", help = "Print JSON").flag()
    private val file by argument(
        "file",
        help = "Hexadecimal digits, or a pcap file; standard input without it, or with -",
    ).default("-")

    init {
        offerVersion()
    }

    override fun help(context: Context) =
        """
        Decode management datagrams of hexadecimal digits or of a pcap file.

        Digits may have the offsets and characters of xxd, hexdump -C and od -tx1. 256 bytes, or an empty line, end a
        datagram. A pcap file is one that --pcap wrote, one of InfiniBand packets, or one of RoCE in Ethernet.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool decode_mad datagrams.txt
          ibtool ibnetdiscover --pcap fabric.pcap; ibtool decode_mad fabric.pcap
          xxd -p -c 32 datagram.bin | ibtool decode_mad --json
        """.trimIndent()

    override fun run() {
        if (file == "-") return show("standard input", standardInput)
        val path = Path.of(file)
        if (Files.isDirectory(path)) throw DiagnosticException("${printable(file)} is a folder: name a file")
        Files.newInputStream(path).use { show(file, it) }
    }

    private fun show(
        name: String,
        input: InputStream,
    ) {
        val bytes = BufferedInputStream(input)
        bytes.mark(Int.SIZE_BYTES)
        val first = bytes.readNBytes(Int.SIZE_BYTES)
        bytes.reset()
        val packets = if (PcapReader.takes(first)) PcapReader(name, bytes) else null
        val found = packets?.datagrams() ?: HexReader(name, bytes.bufferedReader(Charsets.ISO_8859_1)).datagrams()
        var count = 0
        if (isJson) echo("[", trailingNewline = false)
        try {
            found.forEach { show(it, isFirst = count++ == 0) }
        } finally {
            if (isJson) echo(if (count == 0) "]" else "\n]")
        }
        if (packets != null && packets.others > 0) {
            echo("decode_mad: ${packets.others} packets carry no management datagram", err = true)
        }
        if (count == 0) throw DiagnosticException("${printable(name)} has no management datagram")
    }

    private fun show(
        datagram: Datagram,
        isFirst: Boolean,
    ) {
        val decoded = decode(datagram.mad)
        if (isJson) {
            return echo(
                (if (isFirst) "\n" else ",\n") + pretty(json(datagram, decoded)),
                trailingNewline = false,
            )
        }
        val text = "# ${datagram.place}\n${decoded.dump()}"
        echo(
            (if (isFirst) "" else "\n") + text.lines().joinToString("\n", transform = ::printable),
            trailingNewline = false,
        )
    }

    private fun json(
        datagram: Datagram,
        decoded: DecodedMad,
    ): JsonElement =
        JsonObject(
            mapOf(
                "place" to JsonPrimitive(datagram.place),
                "description" to JsonPrimitive(decoded.description),
                "header" to decoded.header.toJson(),
                "attributeName" to JsonPrimitive(decoded.attribute?.description?.name),
                "attribute" to (decoded.attribute?.toJson() ?: JsonNull),
            ),
        )
}
