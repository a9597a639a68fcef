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

/**
 * Runs jextract, which reads the headers independently, by libclang instead of gcc.
 *
 * jextract needs no Gradle: javac builds it in a clone of https://github.com/openjdk/jextract, and Debian's
 * libclang-14-dev is the libclang that it calls.
 *
 * ```
 * javac -d classes $(find src/main/java -name '*.java') && cp -r src/main/resources/. classes
 * echo 'exec java -Djava.library.path=/usr/lib/llvm-14/lib --enable-native-access=ALL-UNNAMED -cp '$PWD/classes \
 *     'org.openjdk.jextract.JextractTool "$@"' >jextract && chmod +x jextract
 * PATH=$PWD:$PATH
 * ```
 */
internal object Jextract {
    private const val PACKAGE = "witness"
    private const val HEADER = "kverbs_abi"
    private val sizeOf = Regex("""sizeof\((?:struct|union) (\w+)\)""")
    private val offsetOf = Regex("""offsetof\((?:struct|union) (\w+), ([\w.]+)\)""")

    /** jextract on the PATH; without it an error in one sentence. */
    fun program(path: String = System.getenv("PATH").orEmpty()): Path =
        path.split(':').map { Path.of(it, "jextract") }.firstOrNull { it.isExecutable() }
            ?: error(
                "jextract is not on the PATH: unpack a build from https://jdk.java.net/jextract and add its bin " +
                    "folder to the PATH.",
            )

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
        val status =
            ToolProvider.getSystemJavaCompiler().run(
                null,
                null,
                null,
                "-nowarn",
                "-d",
                folder.toString(),
                *sources.toTypedArray(),
            )
        check(status == 0) { "javac refused jextract's output in $folder." }
        return URLClassLoader(arrayOf(folder.toUri().toURL()))
    }

    /** Returns a sentence for every generated constant that jextract's classes lack or give another value. */
    fun mismatches(
        entries: List<AbiEntry>,
        classes: ClassLoader,
    ): List<String> =
        entries.mapNotNull { entry ->
            val ours = entry.javaValue()
            runCatching { value(entry.expression, classes) }.fold(
                { theirs ->
                    "${entry.name} is $ours, but jextract says ${entry.expression} is $theirs".takeUnless {
                        agree(
                            theirs,
                            ours,
                        )
                    }
                },
                { "jextract has no ${entry.expression}: $it" },
            )
        }

    /** jextract gives every enumerator as an int, a bit pattern that doesn't tell whether C's enum is signed. */
    private fun agree(
        theirs: Number,
        ours: Long?,
    ): Boolean = ours == theirs.toLong() || (theirs is Int && ours == theirs.toUInt().toLong())

    private fun value(
        expression: String,
        classes: ClassLoader,
    ): Number {
        sizeOf.matchEntire(expression)?.let { return call(classes, it.groupValues[1], "sizeof") as Long }
        val (struct, path) =
            offsetOf.matchEntire(expression)?.destructured
                ?: return call(classes, "${HEADER}_h", expression) as Number
        val layout = call(classes, struct, "layout") as GroupLayout
        val offset = checkNotNull(offset(layout, path.split('.'))) { "no member $path in $layout" }
        if ('.' !in path) {
            val direct = call(classes, struct, "$path\$offset")
            check(direct == offset) { "$path\$offset() is $direct, but the layout has it at $offset" }
        }
        return offset
    }

    /** Calls a static method, which a large header's class inherits from a holder that isn't public. */
    private fun call(
        classes: ClassLoader,
        type: String,
        method: String,
    ): Any =
        classes
            .loadClass("$PACKAGE.$type")
            .getMethod(method)
            .apply { isAccessible = true }
            .invoke(null)

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
