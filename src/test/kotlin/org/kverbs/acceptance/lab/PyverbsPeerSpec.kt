package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import org.kverbs.Device
import org.kverbs.acceptance.contract.PORT

private const val DEVICE = "rxe0"

/** Checks every operation between Pyverbs in another process and kverbs in this one, both on Soft-RoCE. */
internal class PyverbsPeerSpec :
    FunSpec({
        val ours by lazy { Station(DEVICE) }
        afterSpec { ours.close() }

        operationsWithPyverbs("kverbs") { fromPyverbs, type, making, patience, block ->
            val theirs = PyverbsSide.running(DEVICE)
            val (from, to) = if (fromPyverbs) theirs to ours else ours to theirs
            Linked(from, to, type, patience, making).block()
        }
    })
