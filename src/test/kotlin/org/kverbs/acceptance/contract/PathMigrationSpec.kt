package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.shouldBe
import org.kverbs.QueuePair
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.acceptance.contract.Capability.PATH_MIGRATION
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.AsyncEventType.PATH_MIG
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.DeviceCapability.AUTO_PATH_MIG
import org.kverbs.attributes.Gid
import org.kverbs.attributes.MigrationState.ARMED
import org.kverbs.attributes.MigrationState.MIGRATED
import org.kverbs.attributes.MigrationState.REARM
import org.kverbs.attributes.PortCapability.AUTO_MIGR_SUP
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairState.SQD
import java.time.Duration

/** A second way to the same address: the network tells it from the first by the flow label. */
private val OTHER = ConnectOptions.builder().flowLabel(0x12345).timeout(10).build()
private val FIRST = ConnectOptions.builder().timeout(10).retryCount(1).build()

private val QueuePair.migration get() = query().migrationState()

/** Writes a word of [a] to [b]. */
private fun Link.write(id: Long) {
    a.mr.put(pattern(8, id.toInt()))
    a.post { write(id, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
    a.cq.takeOne().shouldBeDone(id, RDMA_WRITE, a.qp)
    b.mr.bytes(8, 0) shouldBe pattern(8, id.toInt())
}

private fun Bench.armed(): Link {
    val link = linked(options = FIRST)
    link.a.qp.migration shouldBe MIGRATED
    link.a.qp.armAlternatePath(link.b.qp.endpoint(OTHER), OTHER)
    link.a.qp.migration shouldBe REARM
    link.b.qp.armAlternatePath(link.a.qp.endpoint(OTHER), OTHER)
    link.write(1)
    await("both ends are armed") { link.a.qp.migration == ARMED && link.b.qp.migration == ARMED }
    return link
}

/** Takes the events of both ends, which must be that each has migrated. */
private fun Bench.bothMigrated(link: Link) {
    val events = List(2) { checkNotNull(context.awaitAsyncEvent(Duration.ofSeconds(20))) }
    events.map { it.type() } shouldBe listOf(PATH_MIG, PATH_MIG)
    events.map { it.source() }.toSet() shouldBe setOf(link.a.qp, link.b.qp)
    context.awaitAsyncEvent(Duration.ZERO) shouldBe null
    for (end in listOf(link.a, link.b)) {
        val known = end.qp.query()
        known.migrationState() shouldBe MIGRATED
        known.address().globalRoute()?.flowLabel() shouldBe 0x12345
    }
}

/** Checks alternate paths. */
internal class PathMigrationSpec :
    ContractSpec({
        case("should say that it has alternate paths, of the device and of its port", PATH_MIGRATION) {
            (AUTO_PATH_MIG in context.queryDevice().capabilities()) shouldBe true
            (AUTO_MIGR_SUP in context.queryPort(PORT).capabilities()) shouldBe true
        }

        case("should move to the alternate path on request, and be followed by the peer", PATH_MIGRATION, RAW_CONNECT) {
            val link = armed()
            link.a.qp.migrate()
            link.write(2)
            bothMigrated(link)
            link.write(3)
        }

        case(
            "should move to the alternate path by itself when no answer comes by the first",
            PATH_MIGRATION,
            RAW_CONNECT,
        ) {
            val link = armed()
            val known = link.a.qp.query().address()
            val route = checkNotNull(known.globalRoute())
            // The only change that leads a connection astray and keeps it alive.
            link.a.qp.modify(QueuePairAttributes.builder().state(SQD).build())
            link.a.qp.modify(
                QueuePairAttributes
                    .builder()
                    .address(AddressAttributes.toGid(nobody(route.dgid()), route.sgidIndex(), PORT))
                    .build(),
            )
            link.a.qp.modify(QueuePairAttributes.builder().state(RTS).build())
            link.write(2)
            bothMigrated(link)
        }

        case("should take no alternate path in RTS that it could not take as a path", PATH_MIGRATION, RAW_CONNECT) {
            val (a, b) = linked(options = FIRST)
            for (options in listOf(
                ConnectOptions.builder().port(PORT + 100).gidIndex(0).build(),
                ConnectOptions.builder().gidIndex(200).build(),
            )) {
                shouldThrow<RdmaSystemException> { a.qp.armAlternatePath(b.qp.endpoint(FIRST), options) }
                    .operation() shouldBe "ibv_modify_qp"
            }
            a.qp.migration shouldBe MIGRATED
        }
    })

/** Returns an address of the same kind that no device has. */
private fun nobody(like: Gid): Gid = Gid(like.subnetPrefix(), like.interfaceId() xor 0x0055_5500)
