package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import org.kverbs.QueuePairType.RC
import org.kverbs.QueuePairType.UC
import org.kverbs.acceptance.lab.Operation.SEND
import org.kverbs.acceptance.lab.Operation.WRITE
import kotlin.time.measureTime

private const val BYTES = 2 shl 20

/** Reliable transfers between the embedded device and Soft-RoCE on a network that loses, delays and reorders packets of both. */
internal class EmbeddedImpairedSpec :
    FunSpec({
        for (netem in listOf("loss 1%", "delay 5ms", "delay 5ms reorder 25% 50%")) {
            for (direction in Direction.entries) {
                test("should carry $BYTES bytes by write, send and read, with $netem, $direction") {
                    BothSides.linked(direction, RC) {
                        SoftRoceWire.impaired("netem $netem") {
                            println("netem $netem $direction: write ${measureTime { carry(WRITE, BYTES) }}")
                            println("netem $netem $direction: send ${measureTime { carry(SEND, BYTES) }}")
                            println("netem $netem $direction: read ${measureTime { read(BYTES) }}")
                        }
                    }
                }
            }
        }

        // UC has nothing that sends again: what a full socket lost would be lost for good.
        for (direction in Direction.entries) {
            test("should lose nothing of a long write on UC when the network is slower than who sends, $direction") {
                BothSides.linked(direction, UC) {
                    SoftRoceWire.impaired("tbf rate 200mbit burst 20kb limit 10mb") { carry(WRITE, BYTES) }
                }
            }
        }
    })
