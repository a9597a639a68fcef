package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.session.NodeNames
import org.kverbs.ibtool.session.problemOf
import org.kverbs.structures.Guid
import java.nio.file.FileAlreadyExistsException
import java.nio.file.FileSystemException
import kotlin.io.path.writeBytes
import kotlin.io.path.writeText

/** Sentences about files and names, and options that all commands have. */
class SmallFaultsSpec :
    FunSpec({
        val folder = tempdir().toPath()

        fun run(line: String) = Outcome(*line.split(' ').toTypedArray(), "--fabric", "hosts:2")

        test("should say what is wrong with the file of the planned fabric") {
            "${run("check --expect /no/file").err}" shouldContain
                "/no/file has no topology that can be read: there is no such file or folder"
        }

        test("should name the file of ibtracert that is not text") {
            val file = folder.resolve("latin").also { it.writeBytes(byteArrayOf(0xe4.toByte(), 0x0a)) }
            val outcome = run("ibtracert --ports-file $file")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "--ports-file $file cannot be read: it is not text in UTF-8"
        }

        test("should name the line that is no threshold, and its file") {
            val file = folder.resolve("limits").also { it.writeText("# mine\n\nVL15Dropped=x\n") }
            "${run("ibcheckerrs -s -T $file").err}" shouldContain "line 3 of $file: \"VL15Dropped=x\" is no threshold"
        }

        test("should have a sentence for each problem of a file") {
            problemOf(FileAlreadyExistsException("f")) shouldBe "there is a file or a folder with this name already"
            problemOf(FileSystemException("f")) shouldBe "the operating system does not say why"
        }

        test("should print the version of commands that ask no fabric") {
            for (command in listOf("ibcacheedit", "decode_mad", "man")) {
                val outcome = Outcome(command, "-V")
                withClue("$outcome") { outcome.status shouldBe 0 }
                "${outcome.out}" shouldContain "$command of kverbs "
            }
        }

        test("should take the first of two names of a GUID, as infiniband-diags does") {
            val file = folder.resolve("names").also { it.writeText("0x5 \"first\"\n0x5 \"second\"\n") }
            NodeNames.read("$file") {}.guids("first") shouldBe listOf(Guid(5))
        }

        test("should show the switches that have the name, and ask none") {
            val file = folder.resolve("two.net")
            file.writeText(
                "switchguid=0x10\nSwitch 2 \"a\" # \"twin\"\n[1] \"b\"[1]\n[2] \"h\"[1]\n\n" +
                    "switchguid=0x20\nSwitch 2 \"b\" # \"twin\"\n[1] \"a\"[1]\n\nCa 1 \"h\"\n[1] \"a\"[2]\n",
            )
            val outcome = Outcome("ibfindnodesusing", "twin", "1", "--fabric", "$file")
            withClue("$outcome") { outcome.status shouldBe 255 }
            "${outcome.err}" shouldContain "2 switches have the name twin: give the GUID of one, of 0x"
        }
    })
