package org.kverbs.ibtool.session

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import java.io.ByteArrayOutputStream
import java.io.IOException
import java.io.OutputStream
import java.io.PrintStream

class StandardOutputSpec :
    FunSpec({
        class Failing(
            private val message: String,
        ) : OutputStream() {
            override fun write(byte: Int) = throw IOException(message)
        }

        fun printed(
            output: OutputStream,
            status: Int,
        ): Pair<Int, List<String>> {
            val said = ArrayList<String>()
            val standard = StandardOutput(output)
            PrintStream(standard.buffered(), false).apply {
                println("CA 'H-1'")
                flush()
            }
            return standard.status(status, said::add) to said
        }

        test("should leave the status as it is if all was written") {
            val bytes = ByteArrayOutputStream()
            printed(bytes, 3) shouldBe (3 to emptyList())
            "$bytes" shouldBe "CA 'H-1'\n"
        }

        test("should tell of a full disk, and fail") {
            val sentence = listOf("standard output cannot be written: No space left on device")
            printed(Failing("No space left on device"), 0) shouldBe (255 to sentence)
            printed(Failing("No space left on device"), 1) shouldBe (1 to sentence)
        }

        test("should end as programs in C do, in silence, if the reader of a pipe has ended") {
            printed(Failing("Broken pipe"), 0) shouldBe (141 to emptyList())
        }
    })
