package org.kverbs.cli.pingpong

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.cli.Outcome
import org.kverbs.cli.kverbs

class PingPongCommandSpec :
    FunSpec({
        listOf(
            "-p 0" to "-p: 0 is not in the valid range of 1 to 65535",
            "--port 65536 host" to "--port: 65536 is not in the valid range",
            "-p 1" to "--port: it needs HOST or --listen",
            "-p 1 host:2" to "--port: it says 1, but HOST says 2",
            "host:70000" to "HOST[:PORT]: 70000 is not a TCP port, 1 to 65535",
            "host:" to "HOST[:PORT]: \"host:\" is no host",
            "[::1" to "HOST[:PORT]: \"[::1\" is no host",
            "host --listen" to "HOST[:PORT]: a server waits for its client",
            "one two" to "unexpected extra argument (two)",
            "--type rd" to "--type: rd is not rc, uc or ud",
            "--type udp" to "--type: udp joins embedded devices and is for --transport",
            "--transport UD" to "--transport: UD is a type of queue pair: --type UD",
            "--type ud -m 1024" to "--mtu: it is for rc and uc",
            "-m 1000" to "-m: invalid choice: 1000",
            "-i 0" to "-i: 0 is not in the valid range",
            "-s 0" to "-s: 0 is not in the valid range",
            "-s 64q" to "-s: 64q is no size: give bytes, or a number with a unit as 64K",
            "-s 10GB" to "-s: 10GB, 10000000000 bytes, is not in the valid range of 1 to 1073741824 (1GiB)",
            "-r 0" to "-r: 0 is not in the valid range",
            "-n 0" to "-n: 0 is not in the valid range of 1 to",
            "--warm-up -1" to "--warm-up: -1 is not in the valid range of 0 to",
            "-e --poll" to "--poll: it never sleeps: leave out --events or this",
            "--adaptive --poll" to "--poll: it never sleeps: leave out --adaptive or this",
            "-e --adaptive" to "--adaptive: it sleeps when nothing comes, --events always: leave out one",
            "-l 16" to "-l: 16 is not in the valid range of 0 to 15",
            "-g -1" to "-g: -1 is not in the valid range",
            "--timeout 0" to "--timeout: 0 is not in the valid range",
            "--transport tcp" to "--transport: tcp is not memory, udp or udp:ADDRESS",
            "--transport memory host" to "--transport: memory joins two ends in one process",
            "--transport memory --listen" to "--transport: memory joins two ends in one process",
            "--transport udp:127.0.0.9" to "--transport: an address is for one end",
            "--transport udp:here --listen" to
                "--transport: embedded devices 'udp:here': 'here' is not an IPv4 or IPv6 address",
            "-g 200" to "--gid-idx: port 1 of",
            "--unknown" to "no such option --unknown",
        ).forEach { (arguments, message) ->
            test("should refuse pingpong $arguments with exit status 2, its reason and its usage") {
                val out = StringBuilder()
                val err = StringBuilder()
                kverbs(listOf("pingpong") + arguments.split(' '), out, err) shouldBe 2
                err.toString() shouldContain message
                err.toString() shouldContain "Usage: kverbs pingpong"
                err.toString() shouldContain "Try kverbs pingpong --help"
                out.toString() shouldBe ""
            }
        }

        test("should leave the warm-up out of its figures, and play it") {
            for (waiting in Waiting.entries) {
                val options = PingPongOptions(device = "embedded0", iterations = 50, warmUp = 20, waiting = waiting)
                val result = PingPong(options).run()
                result.iterations shouldBe 50
                result.roundTrips?.count shouldBe 50
                result.toString() shouldContain "50 iters in "
            }
        }

        listOf(
            "host",
            "host:1",
            "10.0.0.1:65535 -p 65535",
            "::1 -p 1",
            "[::1]:1",
            "[fe80::1%eth0]",
            "fe80::1%eth0",
        ).forEach { server ->
            test("should take $server for a server") {
                val err = StringBuilder()
                val status =
                    kverbs(listOf("pingpong", "-d", "no_such_device") + server.split(' '), StringBuilder(), err)
                status shouldBe 1
                err.toString() shouldNotContain "Usage"
            }
        }
    })
