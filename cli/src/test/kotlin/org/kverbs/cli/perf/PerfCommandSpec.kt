package org.kverbs.cli.perf

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain

internal class PerfCommandSpec :
    FunSpec({
        listOf(
            "write-latency" to "TEST: invalid choice: write-latency",
            "write-bw -s 0" to "-s: 0 is not in the valid range of 1 to 1073741824 bytes (1GiB)",
            "write-bw -s 64q" to "-s: 64q is no size",
            "write-bw -s 64 -a" to "--all: give it or --size",
            "atomic-bw -s 16" to "--size: an atomic operation has 8 bytes",
            "atomic-lat -a" to "--all: an atomic operation has 8 bytes",
            "write-bw -n 5 -D 5" to "--duration: give it or --iters",
            "write-bw -n 0" to "-n: 0 is not in the valid range",
            "write-lat -q 2" to "--qp: write-lat has one queue pair",
            "read-lat -t 2" to "--tx-depth: read-lat has one message under way",
            "send-lat -b" to "--bidirectional: it is for tests of bandwidth",
            "send-bw --percentiles" to "--percentiles: send-bw takes no time of single messages",
            "send-bw --histogram" to "--histogram: send-bw takes no time of single messages",
            "send-bw -e --poll" to "--poll: it never sleeps",
            "write-lat -e" to "--events: write-lat looks at memory",
            "write-lat --csv --json" to "--json: give it or --csv",
            "write-lat --local host" to "HOST[:PORT]: --local is both ends",
            "write-lat --local -p 1" to "--port: --local is both ends",
            "write-lat host:70000" to "HOST[:PORT]: 70000 is not a TCP port",
            "write-lat host:1 -p 2" to "--port: it says 2, but HOST says 1",
            "write-lat --transport memory" to "--transport: memory joins two ends in one process: add --local",
            "write-lat --transport udp:127.0.0.9 --local" to "--transport: an address is for one end",
            "write-lat --transport tcp" to "--transport: tcp is not memory or udp:ADDRESS",
            "write-lat -m 1000" to "-m: invalid choice: 1000",
            "write-lat --perftest --local" to "--perftest: --local has its own peer",
            "write-lat --perftest -a" to "--perftest: -a is of kverbs at both ends",
            "write-lat --perftest -R" to "--perftest: -R is of kverbs at both ends",
            "write-lat --perftest -D 1" to "--perftest: perftest's write-lat does not tell its last message",
            "send-bw --perftest --warm-up 1" to "--perftest: perftest's programs have no warm-up",
            "write-bw --local -i 2" to "--ib-port: embedded0 has ports 1 to 1, not 2",
            "write-bw --local -x 200" to "--gid-index: entry 200 of the GID table of embedded0 is empty",
            "write-bw --local -q 1025" to "-q: 1025 is not in the valid range of 1 to 1024",
            "write-bw --local -t 16384 -q 1000" to "--qp: 1000 queue pairs of 16384 sends and 1 receives need",
        ).forEach { (arguments, message) ->
            test("should refuse perf $arguments with exit status 2, its reason and its usage") {
                val said = perf(arguments)
                withClue(said) {
                    said.status shouldBe 2
                    said.err shouldContain message
                    said.err shouldContain "Usage: kverbs perf"
                    said.err shouldContain "Try kverbs perf --help"
                }
            }
        }

        test("should name the devices that there are for one that is not there") {
            val said = perf("write-lat --local -d nope")
            said.status shouldBe 1
            said.err shouldContain "there is no device 'nope'; this machine has "
        }

        test("should say that no server listens where none does") {
            val said = perf("write-lat 127.0.0.1:${freePort()}")
            said.status shouldBe 1
            said.err shouldContain "start it there without HOST"
        }

        test("should not advise to start a server on a machine that can't be reached") {
            // Linux itself refuses it, as TCP has no broadcast: no packet goes anywhere.
            val said = perf("write-lat --transport udp:127.0.0.1 --timeout 1 255.255.255.255")
            said.status shouldBe 1
            said.err shouldContain "no server answers at 255.255.255.255, TCP port 18515: "
            said.err shouldContain "; check the address, and the network to it"
        }

        test("should say why a chart can't be written, and not its name alone") {
            val said = perf("read-lat --local --svg /proc/chart.svg -n 5 --warm-up 0")
            said.status shouldBe 1
            said.err shouldBe "kverbs: can't write /proc/chart.svg: /proc/chart.svg can't be created there\n"
        }

        test("should ignore -F with a word") {
            val said = perf("read-lat --local -F -n 5 --warm-up 0")
            said.status shouldBe 0
            said.err shouldBe "kverbs: -F is ignored, as kverbs reads no CPU frequency\n"
        }

        test("should give up a client that does not come") {
            val said = perf("read-lat --timeout 1 -p ${freePort()}")
            withClue(said) {
                said.status shouldBe 1
                said.err shouldContain "no client came to TCP port "
                said.err shouldContain "within 1s (--timeout)"
                said.out shouldNotContain "#bytes"
            }
        }
    })
