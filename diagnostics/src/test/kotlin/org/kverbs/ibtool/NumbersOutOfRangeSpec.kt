package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain

/** Numbers of command lines that fit a field of a datagram only when they lose some bits. */
class NumbersOutOfRangeSpec :
    FunSpec({
        fun run(line: String) =
            Outcome(*line.split(' ').map { if (it == "EMPTY") "" else it }.toTypedArray(), "--fabric", "hosts:2")

        val lines =
            """
            ibportstate -D 0,1 0x80000001 down
            ibportstate 2 256
            set_port_state -D 0,1 0x80000001 down
            perfquery 2 0x80000001
            perfquery 2 1-256
            perfquery 2 1,256
            smpquery PI 2 256
            ibcheckport 2 256
            ibcheckerrs 2 256
            ibdatacounts 2 256
            ibswportwatch -n 1 -p 1 2 256
            ibaddr 2 256
            ibstat H-1 4294967295
            vendstat 2 256
            ibsendtrap local_link_integrity 0xffffffff
            ibfindnodesusing S-1 4294967295
            ibccquery SP 2 4294967295
            ibqueryerrors -D 0,4294967295
            iblinkinfo -D 0,256
            ibroute 2 0xffffffff
            ibroute 2 1 0xffffff00
            ibroute -M 2 0xffffffff
            dump_fts 0xffffffff
            dump_fts 1 0xffffff00
            ibportstate 2 1 mkey EMPTY
            perfquery 2 1 --watch 0.01 --cycles 18446744073709551615
            perfquery 2 1 --watch 0.01 --cycles 0
            ibswportwatch -p 1 -n 18446744073709551615 2 1
            ibswportwatch -n 0 2 1
            top -n 18446744073709551615
            top -n 0
            top --rows 0
            top --rows 100001
            ibping -c 18446744073709551615 3
            check --most 1000001
            """.trimIndent().lines()

        for (line in lines) {
            test("should refuse a number that is out of range as a wrong command line: $line") {
                val outcome = run(line)
                withClue("$outcome") { outcome.status shouldBe 2 }
                "${outcome.out}".shouldBeEmpty()
                "${outcome.err}" shouldContain Regex("give |is not a number")
                "${outcome.err}" shouldNotContain "\tat "
            }
        }

        for (line in listOf(
            "ibccconfig SS 2 0x1F 0x0 0x0 0xF 8 0 0:65535 1 --dry-run",
            "ibccconfig SS 2 0x1F 0x0 0x0 0xF 8 0 4:0 1 --dry-run",
            "ibccconfig SS 2 0x1F 0x0 0x0 0xFF 8 0 0:0 1 --dry-run",
            "ibccconfig CT 1 1 0 0:0 4:1 --dry-run",
            "ibccconfig CT 1 1 0 0:0 0:16384 --dry-run",
            "ibccconfig CS 1 0 0x3 65536 1 0 0 --dry-run",
        )) {
            test("should refuse a value that does not fit its field of congestion control: $line") {
                val outcome = run(line)
                withClue("$outcome") { outcome.status shouldBe 255 }
                "${outcome.out}".shouldBeEmpty()
                "${outcome.err}" shouldContain Regex("give |out of range")
            }
        }

        test("should take the largest values of the fields of congestion control") {
            run("ibccconfig SS 2 0x1F 0x0 0x0 0xF 8 0 3:16383 1 --dry-run").status shouldBe 0
            run("ibccconfig CT 1 1 0 0:0 3:16383 --dry-run").status shouldBe 0
        }
    })
