package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import org.kverbs.QueuePairType.RC
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
                        SoftRoceWire.impaired(netem) {
                            println("netem $netem $direction: write ${measureTime { carry(WRITE, BYTES) }}")
                            println("netem $netem $direction: send ${measureTime { carry(SEND, BYTES) }}")
                            println("netem $netem $direction: read ${measureTime { read(BYTES) }}")
                        }
                    }
                }
            }
        }
    })
