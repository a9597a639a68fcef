package org.kverbs.umad

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import java.io.File
import java.nio.file.Files
import java.nio.file.Path

/** The files that this process has open. */
private fun openFiles() =
    File("/proc/self/fd").listFiles().orEmpty().mapNotNull {
        runCatching { Files.readSymbolicLink(it.toPath()) }.getOrNull()
    }

private fun port(
    root: File,
    number: Int,
    device: String,
    port: Int,
): Path {
    val folder = root.resolve("sys/class/infiniband_mad/issm$number").apply { mkdirs() }
    folder.resolve("ibdev").writeText("$device\n")
    folder.resolve("port").writeText("$port\n")
    return root.resolve("dev/infiniband").apply { mkdirs() }.resolve("issm$number").apply { createNewFile() }.toPath()
}

class SubnetManagerBitSpec :
    FunSpec({
        test("should hold the kernel's file of the port while it is open") {
            val root = tempdir()
            port(root, 0, "mlx5_0", 1)
            val file = port(root, 3, "mlx5_0", 2)
            inside(root) {
                val bit = SubnetManagerBit.open("mlx5_0", 2)
                openFiles().count { it == file } shouldBe 1
                bit.describe() shouldBe "subnet manager's bit $file"
                bit.close()
                openFiles().count { it == file } shouldBe 0
            }
        }

        test("should say that there is no such port, and that the file is not there") {
            val root = tempdir()
            val file = port(root, 0, "mlx5_0", 1)
            inside(root) {
                val none = shouldThrow<RdmaSystemException> { SubnetManagerBit.open("mlx5_1", 1) }
                none.errnoName() shouldBe "ENODEV"
                none.message shouldContain "umad_get_issm_path(mlx5_1/1)"
                Files.delete(file)
                val gone = shouldThrow<RdmaSystemException> { SubnetManagerBit.open("mlx5_0", 1) }
                gone.errnoName() shouldBe "ENOENT"
                gone.message shouldContain "modprobe ib_umad"
            }
        }
    })

private fun inside(
    root: File,
    block: () -> Unit,
) {
    val properties = mapOf("kverbs.sysfs" to "$root/sys", "kverbs.dev" to "$root/dev")
    val before = properties.keys.associateWith { System.getProperty(it) }
    try {
        properties.forEach { (name, value) -> System.setProperty(name, value) }
        block()
    } finally {
        before.forEach { (name, value) ->
            if (value ==
                null
            ) {
                System.clearProperty(name)
            } else {
                System.setProperty(name, value)
            }
        }
    }
}
