package org.kverbs.acceptance.docs

import org.kverbs.acceptance.contract.ContractSpec
import org.kverbs.acceptance.contract.DeviceUnderTest
import org.kverbs.acceptance.contract.devices
import java.nio.file.Path
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.name
import kotlin.io.path.readText
import kotlin.io.path.walk

/**
 * A test of ours as a page names it: a spec and its sentence.
 *
 * @property spec the name of a class in `src/test`, or with its module, as in `embedded/DeviceLimitsSpec`
 */
internal data class OurTest(
    val spec: String,
    val sentence: String,
) {
    /** Where it runs: `embedded`, `rxe` and `siw` for a case of the contract; empty if there is no such test. */
    val places: Set<String>
        get() {
            val source = sources[spec] ?: return emptySet()
            val contract = contractSpec(source)
            return when {
                contract != null -> {
                    contractDevices(source).filterValues { sentence in contract.sentencesFor(it) }.keys
                }

                templates(source.readText()).none { it.matches(sentence) } -> {
                    emptySet()
                }

                else -> {
                    setOf(placeOf(source))
                }
            }
        }

    override fun toString(): String = "$spec: \"$sentence\""
}

private val acceptance = root / "src/test/kotlin"

/** The files of all specs by their name on a page. */
private val sources: Map<String, Path> =
    (listOf("src/test") + modulesWithSpecs())
        .flatMap { module ->
            val folder = if (module == "src/test") acceptance else root / module / "src/test/kotlin"
            val prefix = if (module == "src/test") "" else "$module/"
            folder.walk().filter { it.name.endsWith("Spec.kt") }.map { prefix + it.name.removeSuffix(".kt") to it }
        }.toMap()

private fun modulesWithSpecs() =
    root
        .toFile()
        .list()
        .orEmpty()
        .filter { (root / it / "src/test/kotlin").exists() }

/** Returns the spec of a file if it checks the contract. */
private fun contractSpec(source: Path): ContractSpec? {
    if (!source.startsWith(acceptance)) return null
    val name = "${acceptance.relativize(source)}".removeSuffix(".kt").replace('/', '.')
    val type = Class.forName(name)
    if (!ContractSpec::class.java.isAssignableFrom(type)) return null
    return type.getDeclaredConstructor().newInstance() as ContractSpec
}

/** The devices that a spec of the contract runs on, by the word of the page for each. */
private fun contractDevices(source: Path): Map<String, DeviceUnderTest> {
    val lab = devices.getValue("lab").associateBy { it.name.removeSuffix("0") }
    if (source.parent.name == "lab") return lab
    return lab + ("embedded" to devices.getValue("embedded").first())
}

private fun placeOf(source: Path) =
    when {
        source.startsWith(root / "embedded") -> "embedded"
        source.startsWith(acceptance) && source.parent.name == "lab" -> "lab"
        else -> "build"
    }

private val test = Regex("""\b(?:test|case|context|sentence)\(\s*("(?:[^"\\]|\\.)*"(?:\s*\+\s*"(?:[^"\\]|\\.)*")*)""")
private val parameter = Regex("""\$\{[^}]*}|\$\w+""")

/** The sentences of a source; what stands for a parameter matches everything. */
private fun templates(source: String): List<Regex> =
    test
        .findAll(source)
        .map { it.groupValues[1].replace(Regex(""""\s*\+\s*""""), "").removeSurrounding("\"").replace("\\\"", "\"") }
        .map { template ->
            Regex(template.split(parameter).joinToString(".+") { Regex.escape(it) })
        }.toList()
