package org.kverbs.attributes

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.internal.abi.IbvGidEntry
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_INT

class GidEntrySpec :
    FunSpec({
        val gid = Gid.parse("::ffff:10.98.0.1")

        fun structure(type: Int) =
            MemorySegment.ofArray(LongArray(IbvGidEntry.SIZE / Long.SIZE_BYTES)).also {
                gid.writeTo(it, IbvGidEntry.GID.toLong())
                it.set(JAVA_INT, IbvGidEntry.GID_INDEX.toLong(), 3)
                it.set(JAVA_INT, IbvGidEntry.PORT_NUM.toLong(), 2)
                it.set(JAVA_INT, IbvGidEntry.GID_TYPE.toLong(), type)
                it.set(JAVA_INT, IbvGidEntry.NDEV_IFINDEX.toLong(), 11)
            }

        test("should read each field from its own place") {
            GidEntry.from(structure(type = 2)) shouldBe GidEntry(gid, 3, 2, GidType.ROCE_V2, 2, 11)
        }

        test("should show a type without a name as UNKNOWN beside its number") {
            GidEntry.from(structure(type = 9)) shouldBe GidEntry(gid, 3, 2, GidType.UNKNOWN, 9, 11)
        }
    })
