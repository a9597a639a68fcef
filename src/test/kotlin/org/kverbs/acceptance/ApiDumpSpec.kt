package org.kverbs.acceptance

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.jetbrains.kotlin.abi.tools.AbiFilters
import org.jetbrains.kotlin.abi.tools.AbiTools
import java.io.File

/** The published modules, by artifact. */
private val published =
    mapOf(
        "kverbs-core" to "core-java",
        "kverbs-embedded" to "embedded",
        "kverbs-mlx5" to "mlx5",
        "kverbs-efa" to "efa",
        "kverbs-dsl" to "dsl",
        "kverbs-coroutines" to "coroutines",
        "kverbs-serialization" to "serialization",
        "kverbs-krpc" to "krpc",
        "kverbs-micrometer" to "micrometer",
        "kverbs-structures" to "structures",
        "kverbs-management" to "management",
        "kverbs-testkit" to "testkit",
        "kverbs-testkit-kotest" to "testkit-kotest",
        "kverbs-testkit-junit" to "testkit-junit",
    )

/**
 * Compares the public API of each published module with the dump in `api/` that was committed with it, so that every
 * change of the API is seen. For an intended change run `mvn verify -Dapi.update` and commit the new dump. Packages
 * named `internal` are not part of the API.
 */
class ApiDumpSpec :
    FunSpec({
        val root = File(System.getProperty("kverbs.root"))
        val update = System.getProperty("api.update") != "false"

        for ((artifact, module) in published) {
            test("should find the public API of $artifact as it was committed") {
                val classes = root.resolve("$module/target/classes")
                // Single files: a directory gives an empty dump, which equals an empty file.
                val files =
                    classes
                        .walkTopDown()
                        .filter {
                            it.extension == "class" &&
                                it.name != "module-info.class" &&
                                "internal" !in it.relativeTo(classes).invariantSeparatorsPath.split('/')
                        }.sorted()
                        .toList()
                val dump =
                    StringBuilder()
                        .also {
                            AbiTools.getInstance().printJvmDump(
                                it,
                                files,
                                AbiFilters.EMPTY,
                            )
                        }.toString()
                withClue("the dump of $artifact shows no class of org.kverbs: was it compiled?") {
                    dump shouldContain
                        "class org/kverbs/"
                }

                val committed = root.resolve("api/$artifact.api")
                if (update) committed.apply { parentFile.mkdirs() }.writeText(dump)
                withClue(
                    "the public API of $artifact is not as in $committed; if that is meant, run: mvn verify " +
                        "-Dapi.update",
                ) {
                    dump shouldBe committed.takeIf { it.exists() }?.readText()
                }
            }
        }
    })
