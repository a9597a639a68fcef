package org.kverbs.management.simulation

/** The rates of links, as PathRecord numbers them. */
internal object LinkRates {
    /** In tenths of a gigabit a second, with the number of the rate. */
    private val codes =
        mapOf(
            25 to 2,
            50 to 5,
            100 to 3,
            140 to 11,
            200 to 6,
            250 to 15,
            280 to 19,
            300 to 4,
            400 to 7,
            500 to 20,
            560 to 12,
            600 to 8,
            800 to 9,
            1000 to 16,
            1120 to 13,
            1200 to 10,
            1680 to 14,
            2000 to 17,
            3000 to 18,
            4000 to 21,
            6000 to 22,
            8000 to 23,
            12000 to 24,
        )

    /** What a link carries, in tenths of a gigabit a second. */
    fun gigabits(active: LinkRate): Int = lane(active) * lanes(active.width)

    private fun lane(active: LinkRate): Int =
        when {
            active.extended and 8 != 0 -> 1000
            active.extended and 4 != 0 -> 500
            active.extended and 2 != 0 -> 250
            active.extended and 1 != 0 -> 140
            active.speed and 4 != 0 -> 100
            active.speed and 2 != 0 -> 50
            else -> 25
        }

    private fun lanes(width: Int): Int =
        when (width) {
            2 -> 4
            4 -> 8
            8 -> 12
            16 -> 2
            else -> 1
        }

    /** The number of a rate; the slowest if no rate is that. */
    fun code(tenths: Int): Int = codes[tenths] ?: 2

    /** A rate by its number, in tenths of a gigabit a second: the numbers are in no order. */
    fun ofCode(code: Int): Int = codes.entries.firstOrNull { it.value == code }?.key ?: 0
}
