package org.kverbs.internal

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.internal.abi.Errno
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.ADDRESS
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.invoke.MethodHandle

class ErrnoNamesSpec :
    FunSpec({
        test("should know every errno of the C header") {
            val aliases = setOf("EWOULDBLOCK", "EDEADLOCK", "ENOTSUP")
            val constants = Errno::class.java.fields.filter { it.name !in aliases }

            constants.size shouldBeGreaterThan 100
            constants.forEach { ErrnoNames.name(it.getInt(null)) shouldBe it.name }
        }

        test("should agree with the C library on every name and text") {
            val name = glibc("strerrorname_np")
            val text = glibc("strerrordesc_np")
            (1..200).forEach { errno ->
                withClue("errno $errno") {
                    val expected = call(name, errno)?.let { "$it (${call(text, errno)})" } ?: "errno $errno"
                    ErrnoNames.describe(errno) shouldBe expected
                }
            }
        }

        test("should keep numbers that are no errno") {
            listOf(0, -1, 41, 58, 134, 4711, Int.MIN_VALUE, Int.MAX_VALUE).forEach {
                ErrnoNames.name(it) shouldBe "errno $it"
                ErrnoNames.describe(it) shouldBe "errno $it"
            }
        }
    })

private fun glibc(function: String): MethodHandle {
    val linker = Linker.nativeLinker()
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(function), FunctionDescriptor.of(ADDRESS, JAVA_INT))
}

private fun call(
    function: MethodHandle,
    errno: Int,
): String? {
    val text = function.invokeWithArguments(errno) as MemorySegment
    return if (text.address() == 0L) null else text.reinterpret(Long.MAX_VALUE).getString(0)
}
