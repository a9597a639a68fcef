package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.multiple
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonArray
import kotlinx.serialization.json.put
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.OutputFile
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.offerVersion
import org.kverbs.management.subnet.GuidChanges
import org.kverbs.management.subnet.SubnetFileException
import org.kverbs.management.subnet.loadSubnet
import org.kverbs.management.subnet.save
import org.kverbs.management.subnet.withGuids
import org.kverbs.structures.Guid
import java.nio.file.Path

/** `ibcacheedit`: gives nodes of a saved topology other GUIDs. */
internal class IbCacheEditCommand : CoreCliktCommand("ibcacheedit") {
    /** One option of the command line: the kind of GUID, and the GUIDs that it names. */
    private class Edit(
        val kind: String,
        val guids: List<Guid>,
        val apply: GuidChanges.() -> Unit,
    )

    private val switches by edits(
        "--switchguid",
        "BEFORE:AFTER",
        "Change the GUID of a switch and its ports",
    ) { guids ->
        switch(guids[0], guids[1])
    }
    private val adapters by edits("--caguid", "BEFORE:AFTER", "Change the GUID of an adapter") { guids ->
        adapter(guids[0], guids[1])
    }
    private val images by edits("--sysimgguid", "BEFORE:AFTER", "Change a system image GUID") { guids ->
        systemImage(guids[0], guids[1])
    }
    private val ports by edits("--portguid", "NODE:BEFORE:AFTER", "Change the GUID of a port of a node") { guids ->
        port(guids[0], guids[1], guids[2])
    }
    private val isJson by option("--json", help = "Print JSON").flag()
    private val original by argument("orig.cache", help = "What ibnetdiscover --cache saved").convert { Path.of(it) }
    private val edited by argument("new.cache", help = "Where the changed topology is saved").convert { Path.of(it) }

    private fun edits(
        name: String,
        form: String,
        help: String,
        apply: GuidChanges.(List<Guid>) -> Unit,
    ) = option(name, metavar = form, help = help)
        .convert { text ->
            val guids = text.split(':').map { Guid(number(if (it.startsWith("0x")) it else "0x$it")) }
            require(guids.size == form.split(':').size) { "give $form" }
            Edit(name.drop(2), guids) { apply(guids) }
        }.multiple()

    init {
        offerVersion()
    }

    override fun help(context: Context) = "Change GUIDs in a topology that ibnetdiscover --cache saved."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibcacheedit --switchguid 0x2c90200000010:0x2c90200000099 yesterday today
          ibtool ibcacheedit --portguid 0x2c90200000020:0x2c90200000021:0x2c902000000a1 yesterday today
          ibtool ibnetdiscover --diff today
        """.trimIndent()

    override fun run() {
        val edits = switches + adapters + images + ports
        if (edits.isEmpty()) throw UsageError("give what to change, such as --switchguid BEFORE:AFTER")
        val subnet =
            try {
                loadSubnet(original)
            } catch (e: SubnetFileException) {
                throw DiagnosticException("loading original cached fabric failed: ${e.message}", cause = e)
            }
        val changed =
            try {
                subnet.withGuids { edits.forEach { it.apply(this) } }
            } catch (e: IllegalArgumentException) {
                throw DiagnosticException("${e.message}", cause = e)
            }
        OutputFile.writing("the new cache", edited) { changed.save(it) }
        if (isJson) echo("${json(edits)}")
    }

    private fun json(edits: List<Edit>) =
        buildJsonArray {
            for (edit in edits) {
                addJsonObject {
                    put("kind", edit.kind)
                    if (edit.guids.size > 2) put("node", SubnetJson.guid(edit.guids.first().value))
                    put("before", SubnetJson.guid(edit.guids[edit.guids.size - 2].value))
                    put("after", SubnetJson.guid(edit.guids.last().value))
                }
            }
        }
}
