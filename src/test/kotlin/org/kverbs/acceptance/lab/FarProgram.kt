@file:JvmName("FarProgram")

package org.kverbs.acceptance.lab

import java.io.EOFException
import java.io.ObjectInputStream
import java.io.ObjectOutputStream
import java.lang.reflect.InvocationTargetException

/** Does on the embedded device what [FarSide] asks for on its standard input, until that ends. */
internal fun main() {
    val results = ObjectOutputStream(System.out)
    System.setOut(System.err)
    results.flush()
    val calls = ObjectInputStream(System.`in`)
    // A ping-pong opens the device for itself.
    val station by lazy { Station("embedded0") }
    while (true) {
        val name =
            try {
                calls.readObject() as String
            } catch (_: EOFException) {
                return
            }
        val arguments = calls.readObject() as Array<*>
        val method = Side::class.java.methods.single { it.name == name }
        val result =
            try {
                method.invoke(station, *arguments)
            } catch (e: InvocationTargetException) {
                e.targetException
            }
        results.writeObject(result)
        results.flush()
        results.reset()
    }
}
