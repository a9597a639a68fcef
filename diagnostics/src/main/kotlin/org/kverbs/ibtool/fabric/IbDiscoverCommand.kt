package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.kverbs.ibtool.session.OutputFile
import org.kverbs.ibtool.session.Session
import org.kverbs.management.subnet.save
import java.nio.file.Path
import kotlin.io.path.exists

/** `ibdiscover`: discovers the fabric and saves it, for `subnet_diff`, `--load-cache` and `ibnetdiscover --diff`. */
internal class IbDiscoverCommand : DiscoveringCommand("ibdiscover", "DGKLs") {
    private val file by argument("cache", help = "The file that the topology is saved to").convert { Path.of(it) }

    override fun help(context: Context) = "Discover the fabric and save it to a file, which other commands load."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibdiscover yesterday
          ibtool subnet_diff yesterday
          ibtool iblinkinfo --load-cache yesterday
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val subnet = subnet(session)
        if (file.exists()) session.requireWhole()
        OutputFile.writing("the file", file) { subnet.save(it) }
        if (!options.json) return line("$subnet saved to $file")
        print(
            buildJsonObject {
                put("nodes", subnet.nodes.size)
                put("links", subnet.links.size)
                putJsonArray("problems") { subnet.problems.forEach { add(JsonPrimitive("$it")) } }
            },
        )
    }
}
