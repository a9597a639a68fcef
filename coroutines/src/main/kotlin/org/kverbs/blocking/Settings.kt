package org.kverbs.blocking

/**
 * Collects the settings of a builder of this package, and applies them to the Kotlin builder of each server or
 * connection.
 */
internal class Settings<B>(
    private val builder: () -> B,
) : (B) -> Unit {
    private val all = ArrayList<B.() -> Unit>()

    /** Adds a setting; throws at once if its value is not valid. */
    fun add(setting: B.() -> Unit) {
        builder().setting()
        all += setting
    }

    override fun invoke(builder: B): Unit = all.forEach { builder.it() }
}
