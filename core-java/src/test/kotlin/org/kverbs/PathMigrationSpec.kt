package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Feature
import org.kverbs.attributes.Gid
import org.kverbs.attributes.MigrationState.MIGRATED
import org.kverbs.attributes.MigrationState.REARM
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType

private const val DEVICE = 1
private const val PORT = 2
private val PEER = QueuePairEndpoint(7, Gid.parse("fe80::5"), 9, 0, 0, 0)

private fun migrating(parts: Int) = NullVerbs.set(NullVerbs.Option.MIGRATES, parts)

/** Tests alternate paths on null0: what reaches the library, and how a device without them is told. */
class PathMigrationSpec :
    FunSpec({
        onNullDevice()

        test("should load the alternate path and ask for its arming in one call, by the words of the options") {
            migrating(DEVICE or PORT)
            NullBench().use { bench ->
                bench.context.supports(Feature.PATH_MIGRATION) shouldBe true
                val qp = bench.queuePair()
                val options =
                    ConnectOptions
                        .builder()
                        .gidIndex(1)
                        .flowLabel(0x54321)
                        .timeout(17)
                        .serviceLevel(3)
                        .pkeyIndex(5)
                        .build()
                qp.armAlternatePath(PEER, options)
                val loaded = qp.query()
                loaded.migrationState() shouldBe REARM
                loaded.alternatePort() shouldBe 1
                loaded.alternatePkeyIndex() shouldBe 5
                loaded.alternateTimeout() shouldBe 17
                val path = loaded.alternatePath()
                (path.destinationLid() to path.serviceLevel()) shouldBe (7 to 3)
                path.globalRoute().let { Triple(it?.dgid(), it?.flowLabel(), it?.sgidIndex()) } shouldBe
                    Triple(PEER.gid(), 0x54321, 1)
                qp.migrate()
                qp.query().migrationState() shouldBe MIGRATED
                qp.close()
                shouldThrow<IllegalStateException> { qp.armAlternatePath(PEER, options) }
                shouldThrow<IllegalStateException> { qp.migrate() }
            }
        }

        test("should say that a device has no alternate paths unless the device and a port of it say so") {
            for (parts in listOf(0, DEVICE, PORT)) {
                migrating(parts)
                NullBench().use { bench ->
                    bench.context.supports(Feature.PATH_MIGRATION) shouldBe false
                    val qp = bench.queuePair()
                    val missing =
                        shouldThrow<UnsupportedVerbException> { qp.armAlternatePath(PEER, ConnectOptions.DEFAULTS) }
                    missing.operation() shouldBe "ibv_modify_qp"
                    missing.message shouldContain "RC queue pair ${qp.number()}, ALT_PATH, PATH_MIG_STATE"
                    missing.message shouldContain Feature.PATH_MIGRATION.needs()
                    missing.device() shouldBe "null0"
                }
            }
            migrating(0)
        }

        test("should load the path of an XRC receiver, too") {
            migrating(DEVICE or PORT)
            NullBench().use { bench ->
                val receiver = bench.context.xrcDomain().queuePair()
                receiver.armAlternatePath(PEER, ConnectOptions.DEFAULTS)
                receiver.query().migrationState() shouldBe REARM
                receiver.migrate()
                receiver.query().migrationState() shouldBe MIGRATED
                bench.queuePair(QueuePairType.UC).armAlternatePath(PEER, ConnectOptions.DEFAULTS)
            }
            migrating(0)
        }
    })
