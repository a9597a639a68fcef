package org.kverbs.acceptance

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContain
import java.io.File

/** Keeps the lines of our Java within 120 columns; ktlint does so for Kotlin. */
class LineWidthSpec :
    FunSpec({
        val root = File(System.getProperty("kverbs.root"))
        val sources = root.walk().onEnter { it == root || isOurs(it) }.filter { it.extension == "java" }.toList()

        test("should have no line of Java over 120 columns") {
            sources.map { it.relativeTo(root).path } shouldContain "core-java/src/main/java/org/kverbs/Context.java"
            sources.flatMap { file -> tooLong(file.readLines()).map { "${file.relativeTo(root)}:$it" } }.shouldBeEmpty()
        }

        test("should find a line of 121 columns, and none of 120") {
            tooLong(listOf("x".repeat(120), "x".repeat(121))) shouldContain 2
            tooLong(listOf("x".repeat(120))).shouldBeEmpty()
        }
    })

/** Leaves out what builds have written, and hidden folders. */
private fun isOurs(folder: File) = folder.name != "target" && !folder.name.startsWith(".")

/** The numbers of the lines that are too long. */
private fun tooLong(lines: List<String>): List<Int> = lines.indices.filter { lines[it].length > 120 }.map { it + 1 }
