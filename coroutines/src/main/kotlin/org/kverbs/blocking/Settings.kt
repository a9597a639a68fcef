package org.kverbs.blocking

/** What a builder of this package was told, to be told to the builder of Kotlin's for each server or connection. */
internal class Settings<B>(
    private val builder: () -> B,
) : (B) -> Unit {
    private val all = ArrayList<B.() -> Unit>()

    /** Adds a setting; a wrong value is refused here. */
    fun add(setting: B.() -> Unit) {
        builder().setting()
        all += setting
    }

    override fun invoke(builder: B): Unit = all.forEach { builder.it() }
}
