package org.kverbs.coroutines

import org.jetbrains.lincheck.datastructures.ModelCheckingOptions
import org.jetbrains.lincheck.datastructures.Options
import org.jetbrains.lincheck.datastructures.StressOptions
import kotlin.reflect.KClass

/** Runs a class's operations in many orders, each chosen, and looks whether one thread alone could have had the same results. */
internal fun checkOrders(
    subject: KClass<*>,
    iterations: Int = 10,
    invocations: Int = 100,
): Unit =
    ModelCheckingOptions()
        .iterations(iterations)
        .invocationsPerIteration(invocations)
        .small()
        .check(subject)

/** The same in the orders in which real threads run them. */
internal fun checkUnderStress(
    subject: KClass<*>,
    invocations: Int = 1000,
): Unit =
    StressOptions()
        .iterations(10)
        .invocationsPerIteration(invocations)
        .small()
        .check(subject)

/** Three threads with two operations each, after one: small, as the results are compared with those of every order. */
private fun <O : Options<O, *>> O.small(): O = threads(3).actorsPerThread(2).actorsBefore(1).actorsAfter(0)
