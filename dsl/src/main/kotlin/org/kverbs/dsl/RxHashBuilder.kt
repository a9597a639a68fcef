package org.kverbs.dsl

import org.kverbs.attributes.RxHash
import org.kverbs.attributes.RxHashField

/** Builds the hash of received frames. Valid only inside its block. */
@RdmaDsl
public class RxHashBuilder internal constructor() {
    private var key: ByteArray? = null
    private var fields: Array<out RxHashField> = emptyArray()

    /** Sets the fields that are hashed. Default: none, which sends every frame to the first entry of the table. */
    public fun fields(vararg fields: RxHashField) {
        this.fields = fields
    }

    /** Sets the key, 40 bytes. Default: the key of [RxHash.toeplitz], which everyone knows. */
    public fun key(key: ByteArray) {
        this.key = key
    }

    internal fun build(): RxHash = key?.let { RxHash.toeplitz(it, *fields) } ?: RxHash.toeplitz(*fields)
}
