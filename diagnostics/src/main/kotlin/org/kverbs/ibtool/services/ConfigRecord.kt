package org.kverbs.ibtool.services

import org.kverbs.management.structures.MlxConfigSpace

/** A word of a device's configuration space that `vendstat` reads or writes. */
internal class ConfigRecord(
    val address: Long,
    val data: Long,
    val mask: Long,
) {
    override fun toString(): String =
        "0x${address.toString(RADIX)}: 0x${data.toString(RADIX)} mask 0x${mask.toString(RADIX)}"

    companion object {
        /** How many records a request takes. */
        const val MOST = 18
        private const val ALL = 0xffffffffL
        private const val RADIX = 16

        /** Reads `ADDRESS` or `ADDRESS,MASK`, in hexadecimal digits. */
        fun toRead(text: String): ConfigRecord {
            val numbers = numbers(text)
            require(numbers.size in 1..2) { "give ADDRESS or ADDRESS,MASK in hexadecimal digits, unlike $text" }
            return ConfigRecord(numbers[0], 0, numbers.getOrElse(1) { ALL })
        }

        /** Reads `ADDRESS,VALUE` or `ADDRESS,VALUE,MASK`, in hexadecimal digits. */
        fun toWrite(text: String): ConfigRecord {
            val numbers = numbers(text)
            require(numbers.size in 2..3) { "give ADDRESS,VALUE or ADDRESS,VALUE,MASK in hexadecimal digits" }
            return ConfigRecord(numbers[0], numbers[1], numbers.getOrElse(2) { ALL })
        }

        private fun numbers(text: String): List<Long> =
            text.split(',').map { word ->
                val digits = word.removePrefix("0x").removePrefix("0X")
                requireNotNull(digits.toUIntOrNull(RADIX)) { "$word is not a hexadecimal number of 32 bits" }.toLong()
            }

        /** The request for [records], of which it takes the first [MOST]. */
        fun space(records: List<ConfigRecord>): MlxConfigSpace =
            MlxConfigSpace {
                for ((index, wanted) in records.take(MOST).withIndex()) {
                    record[index].address = wanted.address
                    record[index].data = wanted.data
                    record[index].mask = wanted.mask
                }
            }

        /** The modifier of a request for [count] records. */
        fun modifier(count: Int): Int = 2 shl 22 or (count shl 16)
    }
}
