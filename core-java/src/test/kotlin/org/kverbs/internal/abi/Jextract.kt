package org.kverbs.internal.abi

import java.lang.foreign.GroupLayout
import java.lang.foreign.MemoryLayout
import java.lang.foreign.PaddingLayout
import java.lang.foreign.UnionLayout
import java.net.URLClassLoader
import java.nio.file.Path
import javax.tools.ToolProvider
import kotlin.io.path.div
import kotlin.io.path.extension
import kotlin.io.path.isExecutable
import kotlin.io.path.walk
import kotlin.io.path.writeText

/** jextract as a second witness of the headers: an independent reading of them, by libclang instead of gcc. */
internal object Jextract {
    private const val PACKAGE = "witness"
    private const val HEADER = "kverbs_abi"
    private val sizeOf = Regex("""sizeof\((?:struct|union) (\w+)\)""")
    private val offsetOf = Regex("""offsetof\((?:struct|union) (\w+), ([\w.]+)\)""")

    /** jextract on the PATH; without it an error in one sentence. */
    fun program(path: String = System.getenv("PATH").orEmpty()): Path =
        path.split(':').map { Path.of(it, "jextract") }.firstOrNull { it.isExecutable() }
            ?: error("jextract is not on the PATH: unpack a build from https://jdk.java.net/jextract and add its bin folder to the PATH.")

    /** Runs jextract on the headers and compiles what it writes; the sources are in the folder afterwards. */
    fun extract(
        headers: List<String>,
        folder: Path,
    ): ClassLoader {
        val header = folder / "$HEADER.h"
        header.writeText(headers.joinToString("") { "#include <$it>\n" })
        runProgram(program().toString(), "--output", folder.toString(), "--target-package", PACKAGE, header.toString())
        return compile(folder)
    }

    /** Compiles every Java file under the folder, into the folder. */
    fun compile(folder: Path): ClassLoader {
        val sources =
            folder
                .walk()
                .filter { it.extension == "java" }
                .map { it.toString() }
                .toList()
        val status = ToolProvider.getSystemJavaCompiler().run(null, null, null, "-nowarn", "-d", folder.toString(), *sources.toTypedArray())
        check(status == 0) { "javac refused jextract's output in $folder." }
        return URLClassLoader(arrayOf(folder.toUri().toURL()))
    }

    /** One sentence for every constant of ours that jextract's classes lack or give another value. */
    fun mismatches(
        entries: List<AbiEntry>,
        classes: ClassLoader,
    ): List<String> =
        entries.mapNotNull { entry ->
            val theirs = runCatching { value(entry.expression, classes) }
            val ours = entry.javaValue()
            when {
                theirs.isFailure -> "jextract has no ${entry.expression}: ${theirs.exceptionOrNull()}"
                theirs.getOrThrow() != ours -> "${entry.name} is $ours, but jextract says ${entry.expression} is ${theirs.getOrThrow()}"
                else -> null
            }
        }

    private fun value(
        expression: String,
        classes: ClassLoader,
    ): Long {
        sizeOf.matchEntire(expression)?.let { return call(classes, it.groupValues[1], "sizeof") as Long }
        val (struct, path) =
            offsetOf.matchEntire(expression)?.destructured
                ?: return constant(call(classes, "${HEADER}_h", expression))
        val layout = call(classes, struct, "layout") as GroupLayout
        val offset = checkNotNull(offset(layout, path.split('.'))) { "no member $path in $layout" }
        if ('.' !in path) {
            val direct = call(classes, struct, "$path\$offset")
            check(direct == offset) { "$path\$offset() is $direct, but the layout has it at $offset" }
        }
        return offset
    }

    private fun call(
        classes: ClassLoader,
        type: String,
        method: String,
    ): Any = classes.loadClass("$PACKAGE.$type").getMethod(method).invoke(null)

    /** An enumerator of an unsigned enum comes as an int: a bit pattern, never negative in our enums but -1. */
    private fun constant(value: Any): Long = if (value is Int && value < -1) value.toUInt().toLong() else (value as Number).toLong()

    /** The offset of a C path; members of anonymous structs and unions belong to the enclosing one, as in C. */
    private fun offset(
        group: GroupLayout,
        path: List<String>,
    ): Long? {
        var base = 0L
        for (member in group.memberLayouts()) {
            within(member, path)?.let { return base + it }
            base += if (group is UnionLayout) 0 else member.byteSize()
        }
        return null
    }

    private fun within(
        member: MemoryLayout,
        path: List<String>,
    ): Long? {
        val name = member.name().orElse("")
        return when {
            member is PaddingLayout -> null
            name == path.first() -> if (path.size == 1) 0 else offset(member as GroupLayout, path.drop(1))
            member is GroupLayout && (name.isEmpty() || name.startsWith("\$anon\$")) -> offset(member, path)
            else -> null
        }
    }
}
