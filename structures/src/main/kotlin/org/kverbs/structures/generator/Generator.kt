package org.kverbs.structures.generator

import org.kverbs.structures.DescriptionException
import org.kverbs.structures.Descriptions
import java.nio.file.Path
import kotlin.io.path.Path
import kotlin.io.path.createDirectories
import kotlin.io.path.deleteIfExists
import kotlin.io.path.div
import kotlin.io.path.exists
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.readText
import kotlin.io.path.writeText
import kotlin.system.exitProcess

/** Writes Kotlin classes for descriptions: `Generator PACKAGE SOURCES TARGET`. */
public object Generator {
    /**
     * Reads all files `*.iba` of the folder SOURCES, and writes classes of the package PACKAGE to the folder TARGET.
     * Ends
     * with status 1 and a message that names the file and the line if a description is wrong.
     */
    @JvmStatic
    public fun main(arguments: Array<String>) {
        if (arguments.size != 3) {
            System.err.println(
                "usage: Generator PACKAGE SOURCES TARGET, such as: Generator com.example src/structures target/made",
            )
            exitProcess(2)
        }
        try {
            generate(arguments[0], Path(arguments[1]), Path(arguments[2]))
        } catch (e: DescriptionException) {
            System.err.println(e.message)
            exitProcess(1)
        }
    }

    /**
     * Reads all files `*.iba` of [sources], and writes classes of [packageName] below [target]. Files of that package
     * that
     * were generated before and are no longer made are removed.
     *
     * @throws DescriptionException if a description is wrong
     * @throws IllegalArgumentException if there is no description
     */
    public fun generate(
        packageName: String,
        sources: Path,
        target: Path,
    ) {
        val files = sources.listDirectoryEntries("*.iba").sorted()
        require(files.isNotEmpty()) { "$sources has no file *.iba; write a description there" }
        val texts = files.associate { it.name to it.readText() }
        val folder = (target / packageName.replace('.', '/')).createDirectories()
        val made = KotlinWriter(packageName, Descriptions.parse(texts), texts).files()
        folder.listDirectoryEntries("*.kt").filter { it.name !in made }.forEach { it.deleteIfExists() }
        for ((name, text) in made) {
            val file = folder / name
            // A file that stays as it was keeps its time, so that a build need not compile it again.
            if (!file.exists() || file.readText() != text) file.writeText(text)
        }
    }
}
