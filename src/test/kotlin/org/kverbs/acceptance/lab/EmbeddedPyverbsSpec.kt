package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec

/** Checks every operation between Pyverbs on Soft-RoCE and the embedded device over UDP in another process. */
internal class EmbeddedPyverbsSpec :
    FunSpec({
        operationsWithPyverbs("embedded") { fromPyverbs, type, making, patience, block ->
            val ours = FarSide.running()
            val theirs = PyverbsSide.running(SoftRoceWire.device)
            val (from, to) = if (fromPyverbs) theirs to ours else ours to theirs
            Linked(from, to, type, patience, making).block()
        }
    })
