package org.kverbs.internal.abi

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import java.nio.file.Path
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.nameWithoutExtension

/**
 * Compares the generated classes with the C compiler. The values in the repository are those of libibverbs-dev and
 * librdmacm-dev 44 on x86_64.
 */
class AbiSpec :
    FunSpec({
        val listing = AbiListing.committed()
        val compiler = CCompiler.presentOrSkipped(listing.headers)

        test("should equal every size, offset, enum value and constant that the C compiler finds in the headers")
            .config(enabledOrReasonIf = { compiler }) {
                CCompiler.require(listing.headers)
                withClue(
                    "Headers of another rdma-core than 44 may differ; after an intended change run " +
                        "core-java/generator/generate.",
                ) {
                    mismatches(listing).joinToString("\n") shouldBe ""
                }
            }

        test("should notice a wrong offset, a wrong enum value and a missing constant")
            .config(enabledOrReasonIf = { compiler }) {
                CCompiler.require(listing.headers)
                val wrong =
                    listOf(
                        AbiEntry("IbvSge", "LENGTH", "offsetof(struct ibv_sge, lkey)"),
                        AbiEntry("IbvMtu", "IBV_MTU_256", "IBV_MTU_512"),
                        AbiEntry("IbvSge", "NO_SUCH_FIELD", "0"),
                        AbiEntry("IbvSge", "SIZE", "sizeof(struct ibv_sge)"),
                    )
                mismatches(AbiListing(listing.headers, wrong)) shouldContainExactly
                    listOf(
                        "IbvSge.LENGTH is 8, but offsetof(struct ibv_sge, lkey) is 12",
                        "IbvMtu.IBV_MTU_256 is 1, but IBV_MTU_512 is 2",
                        "IbvSge.NO_SUCH_FIELD is null, but 0 is 0",
                    )
            }

        test("should list every constant of every class in the package") {
            val folder = Path.of(IbvSge::class.java.getResource("IbvSge.class")!!.toURI()).parent
            val classes =
                folder.listDirectoryEntries("*.class").map { it.nameWithoutExtension }.filter {
                    it !=
                        "package-info"
                }
            val compiled = classes.flatMap { name -> abiConstants(name).keys.map { "$name.$it" } }.toSet()
            val listed = listing.entries.map { it.name }.toSet()
            withClue("in a class but not in the listing") { (compiled - listed).joinToString("\n") shouldBe "" }
            withClue("in the listing but in no class") { (listed - compiled).joinToString("\n") shouldBe "" }
            withClue("classes without a listed constant") {
                (classes - listing.entries.map { it.className }.toSet()).joinToString("\n") shouldBe ""
            }
        }

        test("should refuse a listing without constants") {
            shouldThrow<IllegalArgumentException> { AbiListing.parse("# empty\ninclude poll.h\n") }
                .message shouldBe "The listing names no constant: run core-java/generator/generate."
        }
    })

private fun mismatches(listing: AbiListing): List<String> {
    val values = CCompiler.evaluate(listing.headers, listing.entries.map { it.expression })
    check(values.size == listing.entries.size) {
        "The C program printed ${values.size} values for ${listing.entries.size} constants."
    }
    return listing.entries
        .zip(values)
        .filter { (entry, value) -> entry.javaValue() != value }
        .map { (entry, value) -> "${entry.name} is ${entry.javaValue()}, but ${entry.expression} is $value" }
}
