package org.kverbs.acceptance.docs

import java.nio.file.Path
import kotlin.io.path.div
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.readText

internal val root: Path = Path.of(System.getProperty("kverbs.root"))

/** A block of a page between two lines of three backticks. */
internal class Fence(
    val language: String,
    val text: String,
) {
    /** The file that the first line names, as `// Echo.kt` or `// hello.main.kts` do; null for a fragment. */
    val file: String? = Regex("// (\\S+\\.(?:kt|kts|java))").matchEntire(text.lines().first())?.groupValues?.get(1)

    /** True if the block has only imports, which the fragments of the page use. */
    val isImports: Boolean = text.lines().all { it.isBlank() || it.startsWith("import ") }
}

/** A document in Markdown. */
internal class Page(
    val path: Path,
) {
    val name: String = path.name
    val text: String = path.readText()
    val fences: List<Fence> =
        Regex("^```(\\w*)\n(.*?)^```$", setOf(RegexOption.MULTILINE, RegexOption.DOT_MATCHES_ALL))
            .findAll(text)
            .map { Fence(it.groupValues[1], it.groupValues[2]) }
            .toList()

    /** The page without its blocks. */
    val prose: String =
        text.replace(
            Regex("^```.*?^```$", setOf(RegexOption.MULTILINE, RegexOption.DOT_MATCHES_ALL)),
            "",
        )

    /** The files that it shows, by name, each with what it prints, as the block of text behind it says. */
    val files: Map<String, ShownFile> =
        fences
            .mapIndexedNotNull { i, fence ->
                fence.file?.let {
                    it to
                        ShownFile(
                            it,
                            fence.text,
                            fences
                                .getOrNull(i + 1)
                                ?.takeIf { next ->
                                    next.language == "text"
                                }?.text,
                        )
                }
            }.toMap()

    /**
     * The fragments of one language, one after the other, as a program, if the page says that they are one. What it
     * prints is in the blocks of text between them.
     */
    fun program(language: String): Fragments? {
        if ("one after the other, are one program" !in prose.replace(Regex("\\s+"), " ")) return null
        val imports = fences.firstOrNull { it.language == language && it.isImports } ?: return null
        val followed = fences.zip(fences.drop(1) + listOf(null))
        val fragments =
            followed.filter { (fence) ->
                fence.language == language && fence.file == null &&
                    !fence.isImports
            }
        return Fragments(
            imports.text,
            fragments.joinToString("\n") { (fence) -> fence.text },
            fragments.mapNotNull { (_, next) -> next?.takeIf { it.language == "text" }?.text }.joinToString(""),
        )
    }

    /** The lines of its blocks of commands. */
    val commands: List<String> =
        fences.filter { it.language == "sh" }.flatMap { it.text.lines() }.filter { it.isNotBlank() }

    override fun toString(): String = name

    companion object {
        /** All documents of the project that people read. */
        fun all(): List<Page> =
            (root / "docs").listDirectoryEntries("*.md").sorted().map(::Page) +
                listOf("README.md", "CONTRIBUTING.md", "SECURITY.md").map { Page(root / it) }

        /** A page by its name. */
        fun of(name: String): Page = all().single { it.name == name }
    }
}

internal class ShownFile(
    val name: String,
    val text: String,
    /** The output of the program; null if the page does not show it. */
    val output: String?,
) {
    val className: String = name.substringBefore('.')
    val isTest: Boolean = className.endsWith("Spec") || className.endsWith("Test")
}

internal class Fragments(
    val imports: String,
    val body: String,
    val output: String,
)
