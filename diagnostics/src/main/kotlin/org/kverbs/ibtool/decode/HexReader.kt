package org.kverbs.ibtool.decode

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.printable
import org.kverbs.management.transport.MAD_SIZE
import java.io.BufferedReader
import java.io.ByteArrayOutputStream

private const val HEADER = 24
private const val SHORTEST_OFFSET = 6
private const val LONGEST_GROUP = 4
private const val LONGEST_LINE = 10_000
private const val MOST_SHOWN = 20

/**
 * Reads datagrams from hexadecimal digits: bare ones, or with the offsets and characters that xxd, hexdump -C and od
 * print. 256 bytes, or an empty line, end a datagram.
 */
internal class HexReader(
    private val name: String,
    private val input: BufferedReader,
) {
    private val bytes = ByteArrayOutputStream()
    private var first = 0
    private var number = 0
    private var hasOffsets = false

    fun datagrams(): Sequence<Datagram> =
        sequence {
            while (true) {
                val line = line() ?: break
                val words = words(line)
                if (words.isEmpty() && line.isBlank()) rest()?.let { yield(it) }
                for (word in words) {
                    for (at in word.indices step 2) {
                        if (bytes.size() == 0) first = number
                        bytes.write(word.substring(at, at + 2).toInt(16))
                        if (bytes.size() == MAD_SIZE) rest()?.let { yield(it) }
                    }
                }
            }
            rest()?.let { yield(it) }
        }

    /** The next line. A file without line breaks is none of text. */
    private fun line(): String? {
        number++
        val line = StringBuilder()
        while (true) {
            val character = input.read()
            if (character < 0) return if (line.isEmpty()) null else line.toString()
            if (character == '\n'.code) return line.toString().removeSuffix("\r")
            if (line.length == LONGEST_LINE) fail("has more than $LONGEST_LINE characters; break it into lines")
            line.append(character.toChar())
        }
    }

    private fun rest(): Datagram? {
        if (bytes.size() == 0) return null
        val mad = bytes.toByteArray()
        bytes.reset()
        if (mad.size < HEADER) {
            fail("ends a datagram of ${mad.size} bytes; its header alone has $HEADER", first)
        }
        return Datagram(mad, "line $first")
    }

    /** The digits of a line, in words of whole bytes. */
    private fun words(line: String): List<String> {
        var text = line.substringBefore('#').substringBefore('|')
        val offset = text.trimStart().substringBefore(' ')
        if (offset.length > 1 && offset.endsWith(':') && offset.dropLast(1).all(::isDigit)) {
            // Behind two blanks xxd prints the bytes as characters.
            text = text.substringAfter(':').trimStart().substringBefore("  ")
        }
        val words =
            text
                .split(
                    ' ',
                    '\t',
                    ',',
                ).filter { it.isNotEmpty() }
                .map { it.removePrefix("0x").removePrefix("0X") }
        if (words == listOf("*")) fail("stands for repeated lines; print the bytes without it, as hexdump -v does")
        val digits = if (isOffset(words)) words.drop(1) else words
        for (word in digits) {
            if (!word.all(::isDigit) || word.length % 2 != 0) {
                val shown = printable(word.take(MOST_SHOWN))
                fail("has \"$shown\", which is no whole number of bytes in hexadecimal digits")
            }
        }
        return digits
    }

    /** hexdump -C and od print offsets without a colon: longer than the words behind. */
    private fun isOffset(words: List<String>): Boolean {
        val offset = words.firstOrNull() ?: return false
        val rest = words.drop(1)
        val isLonger = rest.isNotEmpty() && rest.all { it.length <= LONGEST_GROUP }
        // Behind the last line with bytes both print how many there were.
        val isEnd = rest.isEmpty() && hasOffsets && offset.length < 2 * HEADER
        val isOne = offset.all(::isDigit) && offset.length >= SHORTEST_OFFSET && (isLonger || isEnd)
        hasOffsets = isOne
        return isOne
    }

    private fun isDigit(character: Char) = character in '0'..'9' || character in 'a'..'f' || character in 'A'..'F'

    private fun fail(
        what: String,
        line: Int = number,
    ): Nothing = throw DiagnosticException("${printable(name)}: line $line $what")
}
