@file:JvmName("FarProgram")

package org.kverbs.acceptance.lab

import java.io.EOFException
import java.io.ObjectInputStream
import java.io.ObjectOutputStream
import java.lang.reflect.InvocationTargetException

/** Carries out the calls of [FarSide] on the embedded device, from standard input until its end. */
internal fun main() {
    val results = ObjectOutputStream(System.out)
    System.setOut(System.err)
    results.flush()
    val calls = ObjectInputStream(System.`in`)
    // A ping-pong opens the device by itself.
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
