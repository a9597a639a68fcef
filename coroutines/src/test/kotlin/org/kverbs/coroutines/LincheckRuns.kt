package org.kverbs.coroutines

import org.jetbrains.lincheck.datastructures.ModelCheckingOptions
import org.jetbrains.lincheck.datastructures.Options
import org.jetbrains.lincheck.datastructures.StressOptions
import kotlin.reflect.KClass

/**
 * Runs a class's operations in many orders, each chosen, and looks whether one thread alone could have had the same
 * results.
 *
 * @param model what that thread uses; the same class hides what it does wrong with one thread, too
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

/** The same in the orders in which real threads run them. */
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

/** Three threads with two operations each, after one: small, as the results are compared with those of every order. */
private fun <O : Options<O, *>> O.small(): O = threads(3).actorsPerThread(2).actorsBefore(1).actorsAfter(0)
