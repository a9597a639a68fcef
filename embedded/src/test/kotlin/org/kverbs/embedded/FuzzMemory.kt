package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AccessFlag.FLUSH_GLOBAL
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.MW_BIND
import org.kverbs.attributes.AccessFlag.REMOTE_ATOMIC
import org.kverbs.attributes.AccessFlag.REMOTE_READ
import org.kverbs.attributes.AccessFlag.REMOTE_WRITE
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import kotlin.random.Random

private const val GUARD = 4096L

/** A region between painted guards; only [changeable] may be written, and peers may read only [readable]. */
internal class FuzzArea(
    private val name: String,
    pd: ProtectionDomain,
    private val changeable: LongRange,
    private val readable: LongRange,
    random: Random,
    vararg access: AccessFlag,
) {
    private val all = Arena.ofAuto().allocate(BYTES + 2 * GUARD, 4096)
    private val painted = MemorySegment.ofArray(random.nextBytes(all.byteSize().toInt()))
    val region: MemoryRegion = pd.register(all.asSlice(GUARD, BYTES), *access)
    private val start = all.address() + GUARD

    init {
        MemorySegment.copy(painted, 0, all, 0, all.byteSize())
    }

    fun mayBeRead(
        address: Long,
        bytes: Int,
    ) = address - start in readable && address - start + bytes - 1 in readable

    fun check() {
        val end = if (changeable.isEmpty()) 0L else GUARD + changeable.first
        val again = if (changeable.isEmpty()) 0L else GUARD + changeable.last + 1
        val touched = all.asSlice(0, end).mismatch(painted.asSlice(0, end)).takeIf { it >= 0 } ?: tail(again)
        withClue(
            "the byte at $touched of '$name', whose region begins at $GUARD, was written",
        ) { touched shouldBe null }
    }

    private fun tail(from: Long): Long? =
        MemorySegment
            .mismatch(all, from, all.byteSize(), painted, from, painted.byteSize())
            .takeIf { it >= 0 }
            ?.let { it + from }

    companion object {
        const val BYTES = 32_768L
        val ALL = 0L until BYTES
        val NOTHING = LongRange.EMPTY

        /** The part of each region that receives, reads and windows use. */
        val MIDDLE = 8_192L until 24_576L
    }
}

/** Regions with every kind of access. */
internal class FuzzMemory(
    pd: ProtectionDomain,
    other: ProtectionDomain,
    random: Random,
) {
    private val nothing = FuzzArea.NOTHING
    private val all = FuzzArea.ALL
    private val middle = FuzzArea.MIDDLE

    val source = FuzzArea("what is sent", pd, nothing, nothing, random)
    val sink = FuzzArea("what reads fill", pd, middle, nothing, random, LOCAL_WRITE)
    val receives = FuzzArea("what receives fill", pd, middle, nothing, random, LOCAL_WRITE)
    val windowed = FuzzArea("under windows", pd, middle, middle, random, LOCAL_WRITE, MW_BIND)
    val areas =
        listOf(
            source,
            sink,
            receives,
            windowed,
            FuzzArea("for the owner alone", pd, nothing, nothing, random, LOCAL_WRITE),
            FuzzArea("for reads", pd, nothing, all, random, REMOTE_READ),
            FuzzArea("for writes", pd, all, nothing, random, LOCAL_WRITE, REMOTE_WRITE),
            FuzzArea("for atomics", pd, all, nothing, random, LOCAL_WRITE, REMOTE_ATOMIC),
            FuzzArea("for flushes", pd, nothing, nothing, random, FLUSH_GLOBAL),
            FuzzArea("for everything", pd, all, all, random, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC),
            FuzzArea(
                "of another domain",
                other,
                nothing,
                nothing,
                random,
                LOCAL_WRITE,
                REMOTE_READ,
                REMOTE_WRITE,
                REMOTE_ATOMIC,
            ),
        )

    fun mayBeRead(
        address: Long,
        bytes: Int,
    ) = areas.any { it.mayBeRead(address, bytes) }

    fun check() = areas.forEach(FuzzArea::check)
}
