package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe

class DescriptorsSpec :
    FunSpec({
        test("should tell that no file descriptor is left when a UDP device cannot be opened or join a group") {
            val java = "${System.getProperty("java.home")}/bin/java"
            val program =
                listOf(java, "-cp", System.getProperty("java.class.path"), "--enable-native-access=ALL-UNNAMED")
            val asked =
                ProcessBuilder(
                    listOf("sh", "-c", "ulimit -n 200; exec \"$@\"", "sh") + program +
                        DescriptorsProgram::class.java.name,
                ).redirectErrorStream(true)
                    .start()
            val answer = asked.inputReader().use { it.readText() }
            asked.waitFor() shouldBe 0
            answer.lines().filter { it.isNotEmpty() } shouldBe
                listOf(
                    "not at its end: done",
                    "joining: EMFILE",
                    "opening: EMFILE",
                    "joining later: done",
                    "opening later: done",
                )
        }
    })
