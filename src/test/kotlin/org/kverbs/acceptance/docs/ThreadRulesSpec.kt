package org.kverbs.acceptance.docs

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.ints.shouldBeGreaterThan
import java.nio.file.Path
import kotlin.io.path.div
import kotlin.io.path.extension
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.readText

private val packages = listOf("", "cm", "umad").map { root / "core-java/src/main/java/org/kverbs" / it }
private val declaration = Regex("(?m)^public [a-z ]*(class|interface) ")
private val rule = Regex("thread|immutable", RegexOption.IGNORE_CASE)

/** Exceptions are read by one thread at a time, as all exceptions are. */
private fun sources(): List<Path> =
    packages
        .flatMap { it.listDirectoryEntries() }
        .filter { it.extension == "java" && !it.name.endsWith("Exception.java") }

/** Returns the comment of the public class in a file; null if it has none, or is an enum or a record. */
private fun comment(file: Path): String? {
    val text = file.readText()
    val start = declaration.find(text)?.range?.first ?: return null
    return text.substring(0, start).substringAfterLast("/**")
}

/** What a class asks of its threads stands in its own comment, as libibverbs' man pages say it of each call. */
class ThreadRulesSpec :
    FunSpec({
        test("should say in the comment of each public class of the core which threads may use it") {
            val comments = sources().mapNotNull { file -> comment(file)?.let { file.name to it } }
            comments.size shouldBeGreaterThan 20
            comments.filterNot { (_, text) -> rule.containsMatchIn(text) }.map { it.first }.shouldBeEmpty()
        }
    })
