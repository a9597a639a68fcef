package org.kverbs.cli.script

import java.io.File
import java.net.URI
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.security.MessageDigest
import kotlin.io.path.createDirectories
import kotlin.io.path.deleteIfExists
import kotlin.io.path.exists
import kotlin.io.path.isWritable
import kotlin.io.path.name
import kotlin.io.path.readText

/**
 * A Kotlin script that may use kverbs. What is compiled is kept, and used again while the script and kverbs are the
 * same; a script with annotations for its file (`@file:DependsOn`, `@file:Import`) is compiled each time, for what they
 * name may have changed.
 */
internal class Script(
    private val file: Path,
) {
    /** The libraries of this program, with those of its jars. */
    private val classPath: List<File> =
        System
            .getProperty("java.class.path")
            .split(File.pathSeparatorChar)
            .map(::File)
            .flatMap { listOf(it) + librariesOf(it) }
            .filter { it.exists() }

    /** Runs it to its end; throws [ScriptException]. */
    fun run(arguments: List<String>) {
        val text = file.readText()
        if (FILE_ANNOTATION in text || !keep()) {
            val jar = Files.createTempFile("kverbs", ".jar")
            try {
                ScriptHost.compile(file, classPath, jar)
                ScriptHost.run(file, jar, arguments)
            } finally {
                jar.deleteIfExists()
            }
        } else {
            val jar = kept.resolve(key(text) + ".jar")
            if (!jar.exists()) compile(jar)
            ScriptHost.run(file, jar, arguments)
        }
    }

    /** In one step, for who runs the same script at the same time. */
    private fun compile(jar: Path) {
        val new = Files.createTempFile(kept, "new", ".jar")
        try {
            ScriptHost.compile(file, classPath, new)
            Files.move(new, jar, ATOMIC_MOVE)
        } finally {
            new.deleteIfExists()
        }
    }

    private fun key(text: String): String {
        val libraries = classPath.joinToString { "$it ${it.length()} ${it.lastModified()}" }
        val all = listOf(file.name, text, libraries).joinToString("\u0000")
        return MessageDigest.getInstance("SHA-256").digest(all.encodeToByteArray()).toHexString()
    }

    /** Beside this program's classes; false where nothing can be written. */
    private fun keep(): Boolean = kept.parent.isWritable() && kept.createDirectories().isWritable()

    private companion object {
        val FILE_ANNOTATION = Regex("""^\s*@file:""", RegexOption.MULTILINE)
        val kept: Path =
            Path
                .of(
                    Script::class.java.protectionDomain.codeSource.location.toURI(),
                ).resolveSibling("scripts")

        /** What the manifest of a jar names, as the JVM sees it. */
        fun librariesOf(entry: File): List<File> =
            if (entry.extension == "jar" && entry.exists()) {
                val names = java.util.jar.JarFile(entry).use { it.manifest?.mainAttributes?.getValue("Class-Path") }
                names
                    .orEmpty()
                    .split(
                        ' ',
                    ).filter { it.isNotEmpty() }
                    .map { File(entry.absoluteFile.toURI().resolve(URI(it))) }
            } else {
                emptyList()
            }
    }
}
