package org.kverbs.coroutines

import org.kverbs.coroutines.ChannelArrival.State

/** The messages of a [ChannelInbox] in the peer's order. The inbox's lock guards it. */
internal class ArrivalQueue {
    private val arrivals = ArrayDeque<ChannelArrival>()
    private var numbers = 0L

    /** Number of offered messages whose fetch has not begun. It is written under the lock, and read without it. */
    @Volatile
    var unbegun: Int = 0
        private set

    val size: Int get() = arrivals.size

    operator fun get(index: Int): ChannelArrival = arrivals[index]

    fun firstOrNull(): ChannelArrival? = arrivals.firstOrNull()

    fun isFirst(state: State): Boolean = arrivals.firstOrNull()?.state == state

    fun isEmpty(): Boolean = arrivals.isEmpty()

    /** Returns the index of the first message that [matches]; -1 if there is none. */
    inline fun indexOfFirst(matches: (ChannelArrival) -> Boolean): Int {
        for (index in 0 until size) if (matches(this[index])) return index
        return -1
    }

    /** Numbers a message that has come after all others. */
    fun number(arrival: ChannelArrival) {
        arrival.number = numbers++
    }

    /** Adds a message before all later ones. */
    fun insert(arrival: ChannelArrival) {
        var index = arrivals.size
        while (index > 0 && arrivals[index - 1].number > arrival.number) index--
        arrivals.add(index, arrival)
        if (arrival.state == State.OFFERED) unbegun++
    }

    fun remove(index: Int): ChannelArrival =
        arrivals.removeAt(index).also {
            if (it.state == State.OFFERED && !it.isBegun) unbegun--
        }

    /** Removes a message that leaves the inbox unread. */
    fun drop(index: Int): ChannelArrival = remove(index).also { if (it.state == State.OFFERED) it.state = State.GONE }

    /** Removes the messages that came after this one. */
    fun removeBehind(arrival: ChannelArrival) {
        arrivals.removeAll { it.number > arrival.number }
    }

    /**
     * Marks the first offered message whose fetch has not begun, among the first [most], and returns it. A message that
     * was put back is fetched when it is the first: see [ChannelArrival.budget].
     *
     * @param isLeft true for the index of a message that a receiver reads itself
     */
    inline fun begin(
        most: Int,
        isLeft: (Int) -> Boolean,
    ): ChannelArrival? {
        for (index in 0 until minOf(size, most)) {
            val arrival = this[index]
            val isFree = arrival.state == State.OFFERED && !arrival.isBegun
            if (!isFree || (index > 0 && arrival.budget == 0) || isLeft(index)) continue
            return arrival.also(::mark)
        }
        return null
    }

    fun mark(arrival: ChannelArrival) {
        arrival.isBegun = true
        unbegun--
    }
}
