package org.kverbs.management.simulation

import kotlin.reflect.KProperty

/** A probability. */
internal class Share {
    @Volatile
    private var value = 0.0

    operator fun getValue(
        owner: Any?,
        property: KProperty<*>,
    ): Double = value

    operator fun setValue(
        owner: Any?,
        property: KProperty<*>,
        value: Double,
    ) {
        require(value in 0.0..1.0) { "${property.name} is $value; give a share of 0 to 1" }
        this.value = value
    }
}
