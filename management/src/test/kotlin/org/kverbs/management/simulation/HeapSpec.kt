package org.kverbs.management.simulation

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.string.shouldMatch
import org.kverbs.management.run

class HeapSpec :
    FunSpec({
        for ((hosts, heap) in listOf("10240" to "256m", "65000" to "1g")) {
            test("should be discovered with $hosts hosts in a heap of $heap") {
                run(
                    listOf(
                        "${System.getProperty("java.home")}/bin/java",
                        "-Xmx$heap",
                        "-classpath",
                        System.getProperty("java.class.path"),
                        "org.kverbs.management.simulation.LargeFabricKt",
                        hosts,
                    ),
                ).trim() shouldMatch "(\\d{5}) of \\1 nodes in \\d+ ms"
            }
        }
    })
