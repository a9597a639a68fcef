package org.kverbs.ibtool.counters

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldEndWith
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.ibtool.Outcome
import org.kverbs.management.structures.PortCounters

class TrafficSpec :
    FunSpec({
        test("should leave counters out of the JSON that the port does not have, as in the text") {
            val outcome = Outcome("perfquery", "-x", "--json", "2", "1", "--fabric", "hosts:2")
            withClue("$outcome") { outcome.status shouldBe 0 }
            "${outcome.out}" shouldContain "portXmitData"
            "${outcome.out}" shouldNotContain "symbolErrorCounter"
        }

        test("should say how fast counters of errors grow, and if that is too fast") {
            val before = CounterSample(PortCounters { symbolErrorCounter = 5 })
            val now =
                CounterSample(
                    PortCounters {
                        symbolErrorCounter = 10
                        portRcvErrors = 200
                        portXmitData = 80
                    },
                )
            val rates = CounterRates(before, now, 4)
            rates.errors() shouldBe
                listOf(
                    "Detected rate for SymbolErrorCounter (1.25 cnts/sec)",
                    "Detected excessive rate for PortRcvErrors (50 cnts/sec)",
                )
            rates.traffic() shouldContain "   20 PortXmitData/second"
            rates.table() shouldContain "   SymbolErrorCounter\t\t\t10 ==> 5"
        }

        test("should show the traffic of a port in the lines of infiniband-diags") {
            val lines = "${Outcome("ibdatacounts", "2", "1", "--fabric", "hosts:6").out}".lines()
            lines.first() shouldBe "# Port counters: Lid 2 port 1 (CapMask: 0x1300)"
            lines.drop(1).dropLast(1).map { it.substringBefore(':') } shouldBe
                listOf("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts")
        }

        test("should say which counters it would set to zero, and set none, with --dry-run") {
            val outcome = Outcome("ibclearerrors", "--dry-run", "--fabric", "hosts:2")
            "${outcome.out}" shouldContain "would set the counters of errors of Lid 1 port 1 to zero\n"
            "${outcome.err}" shouldBe ""
        }

        test("should count the nodes whose counters it has set to zero") {
            "${Outcome("ibclearcounters", "--fabric", "hosts:2").out}" shouldEndWith
                "\n## Summary: 7 nodes cleared 0 errors\n"
        }
    })
