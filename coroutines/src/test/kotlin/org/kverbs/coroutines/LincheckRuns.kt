package org.kverbs.coroutines

import org.jetbrains.lincheck.datastructures.ModelCheckingOptions
import org.jetbrains.lincheck.datastructures.Options
import org.jetbrains.lincheck.datastructures.StressOptions
import kotlin.reflect.KClass

/**
 * Runs the operations of a class in many chosen orders, and checks whether one thread could have had the same results.
 *
 * @param model the class that the one thread uses; with the same class a fault that one thread shows, too, stays hidden
 */
internal fun checkOrders(
    subject: KClass<*>,
    model: KClass<*> = subject,
    iterations: Int = 10,
    invocations: Int = 100,
): Unit =
    ModelCheckingOptions()
        .iterations(iterations)
        .invocationsPerIteration(invocations)
        .sequentialSpecification(model.java)
        .small()
        .check(subject)

/** Runs the operations in the orders of real threads. */
internal fun checkUnderStress(
    subject: KClass<*>,
    model: KClass<*> = subject,
    invocations: Int = 1000,
): Unit =
    StressOptions()
        .iterations(10)
        .invocationsPerIteration(invocations)
        .sequentialSpecification(model.java)
        .small()
        .check(subject)

/**
 * One operation, then three threads with two operations each: few, because the results are compared with those of every
 * order.
 */
private fun <O : Options<O, *>> O.small(): O = threads(3).actorsPerThread(2).actorsBefore(1).actorsAfter(0)
