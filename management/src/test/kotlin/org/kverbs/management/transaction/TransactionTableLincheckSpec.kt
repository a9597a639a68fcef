package org.kverbs.management.transaction

import io.kotest.core.spec.style.FunSpec
import org.jetbrains.lincheck.datastructures.IntGen
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions
import org.jetbrains.lincheck.datastructures.Operation
import org.jetbrains.lincheck.datastructures.Options
import org.jetbrains.lincheck.datastructures.Param
import org.jetbrains.lincheck.datastructures.StressOptions
import org.kverbs.management.path.directed

private val request = ByteArray(256)

/** The class that Lincheck creates many times and runs with several threads. A request is known once it was sent. */
@Param(name = "sent", gen = IntGen::class, conf = "0:3")
class TableUnderLincheck {
    private val table = TransactionTable()
    private val sent = ArrayList<Transaction>()

    private fun at(number: Int): Transaction? = synchronized(sent) { sent.getOrNull(number) }

    @Operation
    fun open(): Int {
        val transaction = table.open(request, directed(0))
        return synchronized(sent) { sent.size.also { sent += transaction } }
    }

    @Operation
    fun answer(
        @Param(name = "sent") number: Int,
    ): Boolean = at(number)?.let { table.find(it.id) }?.end(request) ?: false

    @Operation
    fun close(
        @Param(name = "sent") number: Int,
    ): Boolean = at(number)?.let { table.close(it) } ?: false
}

/** The table in words, for one thread. */
class TableInWords {
    private val open = HashSet<Int>()
    private val answered = HashSet<Int>()
    private var next = 0

    fun open(): Int = next++.also { open += it }

    fun answer(id: Int): Boolean = id in open && answered.add(id)

    fun close(id: Int): Boolean = open.remove(id)
}

private fun <O : Options<O, *>> O.small(): O =
    threads(3).actorsPerThread(2).actorsBefore(1).actorsAfter(0).sequentialSpecification(TableInWords::class.java)

class TransactionTableLincheckSpec :
    FunSpec({
        timeout = 1_200_000

        test("should give ids, take answers and forget as one thread would, in every order that model checking tries") {
            ModelCheckingOptions()
                .iterations(2)
                .invocationsPerIteration(50)
                .small()
                .check(TableUnderLincheck::class)
        }

        test("should give ids, take answers and forget as one thread would, under stress") {
            StressOptions()
                .iterations(3)
                .invocationsPerIteration(300)
                .small()
                .check(TableUnderLincheck::class)
        }
    })
