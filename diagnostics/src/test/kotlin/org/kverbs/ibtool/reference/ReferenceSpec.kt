package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe

private const val HERE = "H-0002c90200000020"
private val net = checkNotNull(ReferenceSpec::class.java.getResource("/four-hosts.net")).readText()

/** ibtool beside infiniband-diags on a fabric of four hosts that ibsim simulates, byte for byte. */
class ReferenceSpec :
    FunSpec({
        val simulator by lazy { Ibsim(net, HERE) }

        afterSpec { if (Programs.presentOrSkipped.isEnabled) simulator.close() }

        for (line in commands) {
            test("should print what infiniband-diags prints: $line")
                .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                    val words = line.split(' ').toTypedArray()
                    val expected = simulator.reference(*words)
                    val printed = simulator.ibtool(*words)
                    withClue({ simulator.errors().lines().takeLast(5).joinToString("\n") }) {
                        printed.stable() shouldBe expected.stable()
                    }
                }
        }
    })

/** The command lines that both run. */
private val commands =
    """
    ibnetdiscover
    ibnetdiscover -l
    ibnetdiscover -g
    ibnetdiscover -f
    ibnetdiscover -m
    ibnetdiscover -p
    ibnetdiscover -H
    ibnetdiscover -S
    ibnetdiscover -R
    ibnetdiscover -C ibsim0 -P 1 -t 200 -o 4
    iblinkinfo
    iblinkinfo -l
    iblinkinfo -p
    iblinkinfo -d
    iblinkinfo --switches-only
    iblinkinfo --cas-only -l
    ibstat
    ibstat -l
    ibstat -p
    ibstat -s
    ibstat ibsim0 1
    ibaddr
    ibaddr -L 4
    ibaddr -l 5
    ibaddr -g
    ibaddr -D 0,1
    ibaddr -G 0x2c90200000031
    smpquery NI 4
    smpquery nodeinfo 2
    smpquery ND 2
    smpquery PI 2 4
    smpquery PI 4
    smpquery -D PI 0,1 0
    smpquery SI 2
    smpquery PKeys 4
    smpquery PKeys 2 1
    smpquery SL2VL 2 1
    smpquery SL2VL 4
    smpquery VLArb 2 1
    smpquery VLArb 4 1
    smpquery VLArb 2
    smpquery GI 4
    smpquery PIE 4 1
    smpquery MEPI 4 1
    smpquery -G NI 0x2c90200000031
    smpquery XX 4
    smpquery -K PI 4
    smpquery PI 2 99
    perfquery 4 2
    perfquery -x 4 2
    perfquery -a 2
    perfquery -x -a 2
    perfquery -l -a 2
    perfquery 2 1-3
    perfquery -a 2 1,4,5
    perfquery -E 2 4
    perfquery -D 2 4
    perfquery --oprcvcounters 2 4
    perfquery --flowctlcounters 2 4
    perfquery --vloppackets 2 4
    perfquery --vlopdata 2 4
    perfquery --vlxmitflowctlerrors 2 4
    perfquery --vlxmitcounters 2 4
    perfquery --swportvlcong 2 4
    perfquery --rcvcc 2 4
    perfquery --slrcvfecn 2 4
    perfquery --slrcvbecn 2 4
    perfquery --xmitcc 2 4
    perfquery --vlxmittimecc 2 4
    perfquery -T 2 4
    perfquery -R 2 4
    perfquery -R 2 4 0x0fff
    perfquery -r 2 4
    perfquery -R -a 2
    perfquery 2 255
    ibhosts
    ibswitches
    ibnodes
    ibrouters
    sminfo
    sminfo 1
    sminfo -D 0,1
    smpdump 2 0x11
    smpdump -D 0,1 16
    smpdump -D -s 0,1 16
    smpdump 2 0x15 4
    smpdump 2 0x15 99
    ibroute 2
    ibroute -n 2
    ibroute -a 2
    ibroute 2 3 5
    ibroute -D 0,1
    ibroute -M 2
    ibroute -M -n 2
    ibroute -M -a 2 0xc000 0xc010
    ibroute 3
    ibtracert 3 7
    ibtracert 7 1
    ibtracert -n 4 6
    ibtracert 2 7
    ibtracert 7 2
    ibtracert 5 5
    ibtracert 3 3
    ibtracert -m 0xc000 7 3
    ibtracert -m 0xc000 3 7
    ibtracert -n -m 0xc000 3 7
    ibtracert -m 0xc000 2 7
    ibtracert 3 55
    ibtracert -G 0x2c90200000021 0x2c90200000061
    ibportstate 4 1
    ibportstate -K 4 1
    ibportstate -D 0 1
    ibportstate -D 0,1 0
    ibportstate -D 0,1 1
    ibportstate -D 0,1 4 query
    ibportstate -D 0,1 3
    ibportstate -D 0,1 99
    ibportstate -G 0x2c90200000031 1
    ibqueryerrors
    ibqueryerrors -r
    ibqueryerrors -c
    ibqueryerrors --data
    ibqueryerrors --counters
    ibqueryerrors --counters --switch -r
    ibqueryerrors -s PortRcvSwitchRelayErrors,PortXmitWait --ca
    ibqueryerrors --details
    dump_fts
    dump_fts -n
    dump_fts -a 0x1 0x4
    dump_fts -M
    dump_lfts
    dump_mfts
    saquery CPI
    saquery -c
    saquery NR 4
    saquery 2
    saquery NR 99
    saquery PIR 4/1
    saquery -K PIR 4/1
    saquery PIR 2/4
    saquery SL2VL 2/1/1
    saquery VLAR 2/1/1
    saquery GIR 4/0
    saquery LFTR 2/0
    saquery MFTR 2/0/0
    saquery SWIR 2
    saquery SMIR
    saquery SMIR 1
    saquery LR 4/1
    saquery LR 2/1
    saquery IIR
    saquery -I
    saquery SR
    saquery -S
    saquery --smkey 1 PKTR 4/1/0
    saquery PKTR 4/1/0
    saquery MCMR
    saquery MCMR --mlid 0xc000
    saquery MCMR --mgid ff12:401b:ffff::ffff:ffff --pkey 0xffff
    saquery MCMR --rate 3
    saquery MCMR --scope 2
    saquery -g
    saquery -g 0xc000
    saquery -m
    saquery -m 0xc000
    saquery -m 0xc0ff
    saquery -O 77
    saquery -U 0x77
    saquery --src-to-dst 4:5
    saquery PR --slid 4 --dlid 5
    saquery PR --slid 4 --dlid 5 --sl 0 -n 1
    saquery PR --slid 4 --dlid 5 --mtu 4
    saquery PR --slid 4 --dlid 5 --pkey 0xffff
    saquery NR 0x100000
    saquery PR --sgid zz
    saquery --src-to-dst 1
    """.trimIndent().lines()
