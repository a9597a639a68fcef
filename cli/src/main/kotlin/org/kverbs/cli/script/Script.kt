package org.kverbs.cli.script

import java.io.File
import java.io.IOException
import java.net.URI
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.security.MessageDigest
import java.util.jar.JarFile
import kotlin.io.path.createDirectories
import kotlin.io.path.deleteIfExists
import kotlin.io.path.exists
import kotlin.io.path.isWritable
import kotlin.io.path.name
import kotlin.io.path.readText

/**
 * A Kotlin script that can use kverbs. Keeps the compiled script, and uses it again until the script or kverbs changes.
 * Compiles a script with annotations for its file (`@file:DependsOn`, `@file:Import`) each time, because the files that
 * they name can have changed.
 *
 * @param onCompiling is called before the script is compiled, which takes several seconds
 */
internal class Script(
    private val file: Path,
    private val onCompiling: () -> Unit,
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
        val kept = if (FILE_ANNOTATION in text) null else folder()
        if (kept == null) {
            val jar = Files.createTempFile("kverbs", ".jar")
            try {
                compile(jar)
                ScriptHost.run(file, jar, arguments)
            } finally {
                jar.deleteIfExists()
            }
        } else {
            val jar = kept.resolve(key(text) + ".jar")
            if (!jar.exists()) compileInOneStep(jar)
            ScriptHost.run(file, jar, arguments)
        }
    }

    private fun compile(jar: Path) {
        onCompiling()
        ScriptHost.compile(file, classPath, jar)
    }

    /** Another process that starts the same script finds the whole [jar] or none. */
    private fun compileInOneStep(jar: Path) {
        val new = Files.createTempFile(jar.parent, "new", ".jar")
        try {
            compile(new)
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

    private companion object {
        val FILE_ANNOTATION = Regex("""^\s*@file:""", RegexOption.MULTILINE)

        /**
         * Returns the folder for compiled scripts: beside this program's classes, or else in the user's cache; null if
         * neither can be written.
         */
        fun folder(): Path? {
            val program = Path.of(Script::class.java.protectionDomain.codeSource.location.toURI())
            val beside = program.resolveSibling("scripts")
            val cache = System.getenv("XDG_CACHE_HOME") ?: System.getenv("HOME")?.let { "$it/.cache" }
            return listOfNotNull(beside, cache?.let { Path.of(it, "kverbs", "scripts") }).firstOrNull { isUsable(it) }
        }

        private fun isUsable(folder: Path): Boolean =
            try {
                folder.createDirectories().isWritable()
            } catch (_: IOException) {
                false
            }

        /** Returns the libraries that the manifest of a jar names, resolved as the JVM resolves them. */
        fun librariesOf(entry: File): List<File> =
            if (entry.extension == "jar" && entry.exists()) {
                val names = JarFile(entry).use { it.manifest?.mainAttributes?.getValue("Class-Path") }
                val folder = entry.absoluteFile.toURI()
                names.orEmpty().split(' ').filter { it.isNotEmpty() }.map { File(folder.resolve(URI(it))) }
            } else {
                emptyList()
            }
    }
}
