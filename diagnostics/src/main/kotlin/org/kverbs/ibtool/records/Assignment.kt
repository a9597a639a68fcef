package org.kverbs.ibtool.records

import org.kverbs.ibtool.session.isNumber
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.printable
import org.kverbs.structures.Structure

/** `FIELD=VALUE` of a command line: what a field of a record must be. */
internal class Assignment(
    private val field: String,
    private val text: String,
) {
    /**
     * Assigns the value to the field of [record].
     *
     * @throws IllegalArgumentException if there is no such field, or if it does not take the value
     */
    fun on(record: Structure) {
        try {
            record[field] = if (isNumber(text)) number(text) else text
        } catch (e: NoSuchElementException) {
            val name = record.description.name
            throw IllegalArgumentException("$name has no field ${printable(field)}; ${known(record)}", e)
        } catch (e: IllegalArgumentException) {
            // A name can be all digits.
            if (!isNumber(text) || !takesText(record)) throw e
        }
    }

    private fun takesText(record: Structure) = runCatching { record[field] = text }.isSuccess

    private fun known(record: Structure): String {
        val parts = record.description.components.map { it.name }
        val all = parts.ifEmpty { record.description.fields.filter { !it.isReserved }.map { it.name } }
        val names = all.map { it.substringBefore('[') }
        val end = field.substringAfterLast('.')
        val like = names.filter { it.contains(end, ignoreCase = true) }
        return if (like.isEmpty()) "its fields are ${names.distinct().joinToString()}" else "is it ${like.first()}?"
    }

    companion object {
        /** Reads `FIELD=VALUE`; null if the text is something else. */
        fun parse(text: String): Assignment? =
            if ('=' in text) Assignment(text.substringBefore('='), text.substringAfter('=')) else null
    }
}
