package org.kverbs.management.simulation

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.string.shouldMatch
import org.kverbs.management.run

class HeapSpec :
    FunSpec({
        test("should be discovered with 10,240 hosts in a heap of 256 MB") {
            run(
                listOf(
                    "${System.getProperty("java.home")}/bin/java",
                    "-Xmx256m",
                    "-classpath",
                    System.getProperty("java.class.path"),
                    "org.kverbs.management.simulation.LargeFabricKt",
                    "10240",
                ),
            ).trim() shouldMatch "(\\d{5}) of \\1 nodes in \\d+ ms"
        }
    })
