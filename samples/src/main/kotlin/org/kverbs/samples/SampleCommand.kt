package org.kverbs.samples

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.types.choice

/** `kverbs sample`: runs one of the small programs of this package, each of which is a file to read. */
class SampleCommand : CoreCliktCommand("sample") {
    private val program by argument("NAME", help = "ten-lines (TenLines.kt) or java-echo (JavaEcho.java)")
        .choice("ten-lines" to ::tenLines, "java-echo" to ::javaEcho)
    private val device by deviceOption("RDMA device (default the first)")

    override fun help(context: Context) = "Run a sample program on an RDMA device."

    override fun run() = program(device)

    private fun javaEcho(device: String?) = JavaEcho.main(listOfNotNull(device).toTypedArray())
}
