package org.kverbs.benchmarks.bench

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.doubles.plusOrMinus
import io.kotest.matchers.shouldBe

private fun bandwidth(average: String) =
    """
    |---------------------------------------------------------------------------------------
    | #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
    | 1048576    140              0.00               $average                 0.000070
    |---------------------------------------------------------------------------------------
    """.trimMargin()

private fun latency(average: String) =
    """
    | #bytes        #iterations       t_avg[usec]    tps average
    | 64            41000            $average           34000.00
    """.trimMargin()

internal class PerftestSpec :
    FunSpec({
        test("should read perftest's rate, which is in mebibytes, as MB of 10^6 bytes a second") {
            Perftest.figure(Case.STREAM_1_MIB, bandwidth("70.00")) shouldBe (73.4 plusOrMinus 0.01)
        }

        test("should double perftest's time, which is that of one way") {
            Perftest.figure(Case.ROUND_TRIP_64, latency("14.60")) shouldBe (29.2 plusOrMinus 0.001)
        }

        test("should take a rate of zero for a failure: no completion came in perftest's time") {
            shouldThrow<BenchException> { Perftest.figure(Case.STREAM_1_MIB, bandwidth("0.00")) }
        }

        test("should fail if perftest prints no table") {
            shouldThrow<BenchException> { Perftest.figure(Case.ROUND_TRIP_64, "Couldn't connect to 127.0.0.1:18700") }
        }
    })
