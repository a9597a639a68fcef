package org.kverbs.management.transport

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.extensions.system.withSystemProperty
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.management.port.EndPort
import org.kverbs.structures.Lid
import java.nio.file.Path
import kotlin.io.path.createParentDirectories
import kotlin.io.path.deleteExisting
import kotlin.io.path.writeText
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.TestTimeSource

class PortTablesSpec :
    FunSpec({
        class Machine(
            private val port: Path,
        ) {
            val clock = TestTimeSource()
            val tables = PortTables(EndPort("mlx5_0", 1), clock)

            fun file(
                name: String,
                text: String,
            ) = port.resolve(name).createParentDirectories().writeText(text)

            /** Moves a key to another index, and takes all LIDs but one. */
            fun change() {
                file("pkeys/0", "0x8005")
                port.resolve("pkeys/2").deleteExisting()
                file("lid_mask_count", "0")
            }
        }

        fun on(block: Machine.() -> Unit) {
            val folder = tempdir().toPath()
            withSystemProperty("kverbs.sysfs", "$folder") {
                val machine = Machine(folder.resolve("class/infiniband/mlx5_0/ports/1"))
                machine.file("pkeys/0", "0x7fff")
                machine.file("pkeys/1", "0x0000")
                machine.file("pkeys/2", "0x8005")
                machine.file("lid_mask_count", "2")
                machine.block()
            }
        }

        test("should find a partition by its key, and as a limited member") {
            on {
                tables.partition(0x8005) shouldBe 2
                tables.partition(0xffff) shouldBe 0
                tables.key(2) shouldBe 0x8005
                tables.key(1).shouldBeNull()
                tables.pathBits(Lid(0x47)) shouldBe 3
            }
        }

        test("should not read the files again for each datagram") {
            on {
                tables.partition(0x8005) shouldBe 2
                change()
                clock += 900.milliseconds
                tables.partition(0x8005) shouldBe 2
                tables.key(2) shouldBe 0x8005
                tables.pathBits(Lid(0x47)) shouldBe 3
            }
        }

        test("should know what changed a second later") {
            on {
                tables.partition(0x8005) shouldBe 2
                change()
                clock += 1000.milliseconds
                tables.partition(0x8005) shouldBe 0
                tables.key(2).shouldBeNull()
                tables.pathBits(Lid(0x47)) shouldBe 0
            }
        }

        test("should look at once for a key that it does not know, and name the keys that there are") {
            on {
                shouldThrow<MadTransportException> { tables.partition(0x8009) }.message shouldContain
                    "mlx5_0/1 is not in the partition 0x8009; its keys are 0x7fff, 0x8005"
                file("pkeys/1", "0x8009")
                tables.partition(0x8009) shouldBe 1
            }
        }
    })
