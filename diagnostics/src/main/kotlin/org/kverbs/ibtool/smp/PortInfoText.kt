package org.kverbs.ibtool.smp

import org.kverbs.ibtool.session.Dotted
import org.kverbs.management.structures.LinkSpeedExt2
import org.kverbs.management.structures.PortInfo

/** PortInfo in the form of infiniband-diags. */
internal object PortInfoText {
    private const val KEY = "Mkey"
    private const val SECRET = "<not displayed>"

    /** Fields of XDR, which infiniband-diags 44 does not know. They are printed where they say something. */
    private val newer = arrayOf("LinkSpeedExtActive2", "LinkSpeedExtSupported2", "LinkSpeedExtEnabled2")

    /** The lines of [info]. The management key is one of them only if [showsKeys]. */
    fun of(
        info: PortInfo,
        showsKeys: Boolean,
    ): String {
        val text = Dotted(info)
        val hasNewer = info.linkSpeedExtSupported2.value and LinkSpeedExt2.XDR.value != 0
        val lines = withZeros(if (hasNewer) text.without(KEY) else text.without(KEY, *newer))
        return (if (showsKeys) text.text(listOf(KEY)) else Dotted.row(KEY, SECRET)) + lines
    }

    /** The lines of [info] with these names, in this order. The management key is shown only if [showsKeys]. */
    fun rows(
        info: PortInfo,
        names: List<String>,
        showsKeys: Boolean,
    ): String {
        val text = Dotted(info)
        return names.joinToString("") {
            if (it == KEY && !showsKeys) Dotted.row(KEY, SECRET) else withZeros(text.text(listOf(it)))
        }
    }

    /** libibmad prints a set of extended speeds without any as 0, and other empty sets as undefined. */
    private fun withZeros(lines: String) = lines.replace(emptySpeeds, "$1" + "0")

    private val emptySpeeds = Regex("(LinkSpeedExt(?:Supported|Enabled):\\.+)undefined \\(0\\)")
}
