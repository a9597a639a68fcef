package org.kverbs.ibtool.local

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome
import org.kverbs.ibtool.reference.Programs
import java.nio.file.Path
import kotlin.io.path.createDirectories
import kotlin.io.path.readText
import kotlin.io.path.writeText

/** Two devices of a machine that is only files: one with a link, one with what old drivers tell. */
private fun machine(folder: Path): Path {
    val devices = folder.resolve("class/infiniband")

    fun file(
        name: String,
        text: String,
    ) = devices.resolve(name).apply { parent.createDirectories() }.writeText(text + "\n")
    for ((device, state) in listOf("mlx5_0" to "4: ACTIVE", "mlx5_1" to "1: DOWN")) {
        file("$device/node_guid", "0002:c903:0000:149${device.last()}")
        file("$device/node_desc", "old $device")
        file("$device/node_type", "1: CA")
        val port = "$device/ports/1"
        file("$port/gids/0", "fe80:0000:0000:0000:0002:c903:0000:149${device.last()}")
        file("$port/lid", "0x1f")
        file("$port/sm_lid", "0x1")
        file("$port/state", state)
        file("$port/phys_state", if (state == "4: ACTIVE") "5: LinkUp" else "4: PortConfigurationTraining")
        file("$port/rate", "100 Gb/sec (4X EDR)")
        if (device == "mlx5_0") file("$port/link_layer", "InfiniBand")
    }
    return devices
}

/** `ibstatus`, `ibv_devices` and `set_nodedesc` on files that stand for the kernel's. */
class LocalCommandsSpec :
    FunSpec({
        fun <T> on(block: (Path) -> T): T {
            val folder = tempdir().toPath()
            val devices = machine(folder)
            val before = System.getProperty("kverbs.sysfs")
            System.setProperty("kverbs.sysfs", "$folder")
            try {
                return block(devices)
            } finally {
                if (before == null) System.clearProperty("kverbs.sysfs") else System.setProperty("kverbs.sysfs", before)
            }
        }

        test("should show the ports as the script of infiniband-diags does")
            .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                on { devices ->
                    val original = Path.of("/usr/sbin/ibstatus").readText()
                    val script = original.replace("/sys/class/infiniband", "$devices")
                    for (words in listOf(emptyList(), listOf("mlx5_1"), listOf("mlx5_0:1", "mlx5_1"))) {
                        val command = listOf("sh", "-c", script, "ibstatus") + words
                        val expected = ProcessBuilder(command).start().inputReader().readText()
                        val outcome = Outcome("ibstatus", *words.toTypedArray())
                        withClue("$outcome") { "${outcome.out}" shouldBe expected }
                    }
                }
            }

        test("should refuse a port that is not there, and name those that are") {
            on {
                for (place in listOf("mlx5_7", "mlx5_0:2")) {
                    val outcome = Outcome("ibstatus", place)
                    outcome.status shouldBe 255
                    "${outcome.err}" shouldContain "no device or port $place; there are mlx5_0:1, mlx5_1:1"
                }
            }
        }

        test("should list the devices in the form of ibv_devices") {
            on {
                "${Outcome("ibv_devices").out}" shouldBe
                    """
                    |    device          	   node GUID
                    |    ------          	----------------
                    |    mlx5_0          	0002c90300001490
                    |    mlx5_1          	0002c90300001491
                    |
                    """.trimMargin()
                "${Outcome("ibv_devices", "--json").out}" shouldContain "\"name\": \"mlx5_1\""
            }
        }

        test("should write the description of all adapters, or of one, and nothing with --dry-run") {
            on { devices ->
                fun text(device: String) = devices.resolve("$device/node_desc").readText().trimEnd()
                val dry = Outcome("set_nodedesc", "new %d", "--dry-run")
                "${dry.out}" shouldContain "would set the description of mlx5_1, which is 'old mlx5_1', to 'new mlx5_1'"
                text("mlx5_0") shouldBe "old mlx5_0"
                Outcome("set_nodedesc", "new %d", "-C", "mlx5_1").status shouldBe 0
                text("mlx5_0") shouldBe "old mlx5_0"
                text("mlx5_1") shouldBe "new mlx5_1"
                Outcome("set_nodedesc", "x").status shouldBe 0
                text("mlx5_0") shouldBe "x"
                val long = Outcome("set_nodedesc", "x".repeat(65))
                long.status shouldBe 2
                "${long.err}" shouldContain "has 65 bytes; give at most 64"
                Outcome("set_nodedesc", "x", "-C", "mlx5_9").let { "${it.err}" shouldContain "no InfiniBand device" }
            }
        }
    })
