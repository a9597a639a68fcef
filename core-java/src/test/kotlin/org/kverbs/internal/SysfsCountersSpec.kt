package org.kverbs.internal

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.maps.shouldBeEmpty
import io.kotest.matchers.shouldBe

class SysfsCountersSpec :
    FunSpec({
        test("should read the numbers of both directories, and leave out what is no number and no counter") {
            val port = tempdir()
            val files =
                mapOf(
                    "counters/port_xmit_data" to "18446744073709551615\n",
                    "counters/symbol_error" to "N/A (no PMA)\n",
                    "hw_counters/out_of_sequence" to "17\n",
                    "hw_counters/lifespan" to "12\n",
                )
            files.forEach { (name, text) -> port.resolve(name).apply { parentFile.mkdirs() }.writeText(text) }
            port.resolve("counters/directory").mkdir()
            SysfsCounters.read(port.toPath()) shouldBe mapOf("port_xmit_data" to -1L, "out_of_sequence" to 17L)
        }

        test("should read nothing where there is no such port") {
            SysfsCounters.read(tempdir().toPath().resolve("none")).shouldBeEmpty()
        }
    })
