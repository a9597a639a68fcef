package org.kverbs.acceptance.lab

import java.io.ObjectInputStream
import java.io.ObjectOutputStream
import java.lang.reflect.Proxy

/**
 * A [Station] on the embedded device in the other namespace of [SoftRoceWire], in a separate process. Closing it kills
 * the process, which also ends with this one.
 */
internal class FarSide private constructor(
    private val process: Process,
    side: Side,
) : Side by side,
    AutoCloseable {
    val pid: Long get() = process.pid()

    override fun close() {
        process.destroyForcibly().waitFor()
    }

    companion object {
        private val last = mutableMapOf<String, FarSide>()

        /** Returns the side that runs at this address, or starts one. */
        fun running(address: String = SoftRoceWire.THERE): FarSide =
            last[address]?.takeIf { it.process.isAlive } ?: start(address).also { last[address] = it }

        private fun start(address: String): FarSide {
            val process = SoftRoceWire.startJava(address, "FarProgram")
            return FarSide(process, proxy(process))
        }

        /** Writes each call to the process, and reads its result or exception. */
        private fun proxy(process: Process): Side {
            val calls = ObjectOutputStream(process.outputStream)
            calls.flush()
            val results by lazy { ObjectInputStream(process.inputStream) }
            return Proxy.newProxyInstance(
                Side::class.java.classLoader,
                arrayOf(Side::class.java),
            ) { _, method, arguments ->
                calls.writeObject(method.name)
                calls.writeObject(arguments ?: emptyArray<Any?>())
                calls.flush()
                calls.reset()
                val result = results.readObject()
                if (result is Throwable) throw IllegalStateException("the far side: $result", result)
                result
            } as Side
        }
    }
}
