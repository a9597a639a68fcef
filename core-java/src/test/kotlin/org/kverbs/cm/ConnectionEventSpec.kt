package org.kverbs.cm

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.booleans.shouldBeFalse
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.AddressAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.cm.ConnectionEventType.REJECTED
import org.kverbs.cm.ConnectionEventType.UNREACHABLE
import org.kverbs.internal.Structures
import org.kverbs.internal.abi.Errno
import org.kverbs.internal.abi.RdmaCmEvent
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.ref.WeakReference
import java.net.InetSocketAddress
import java.time.Duration
import java.time.temporal.ChronoUnit
import kotlin.concurrent.thread

private val PEER = InetSocketAddress("10.0.0.1", 7471)
private val SECOND: Duration = Duration.ofSeconds(1)

/** Events are copies, and say what to do; ids live as long as their channel. */
class ConnectionEventSpec :
    FunSpec({
        fun ConnectionEventChannel.next() = awaitEvent(SECOND).shouldNotBeNull()

        test("should acknowledge an event before it is given away, and keep nothing of its memory") {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val id = channel.id(PortSpace.TCP)
                val memory =
                    fake.queue(
                        channel,
                        ConnectionEventType.CONNECT_RESPONSE.code(),
                        id.handle(),
                        privateData = byteArrayOf(1, 2, 3),
                    ) {
                        it.set(JAVA_BYTE, RdmaCmEvent.PARAM_CONN_RESPONDER_RESOURCES.toLong(), -1)
                        it.set(JAVA_INT, RdmaCmEvent.PARAM_CONN_QP_NUM.toLong(), 77)
                    }
                val event = channel.next()
                fake.calls shouldContainExactly listOf("ackEvent" to memory.address())
                memory.fill(9)
                event.type() shouldBe ConnectionEventType.CONNECT_RESPONSE
                event.id() shouldBe id
                event.privateData().toList() shouldContainExactly listOf<Byte>(1, 2, 3)
                event.responderResources() shouldBe 255
                event.queuePairNumber() shouldBe 77
                event.address().shouldBeNull()
                event.orThrow() shouldBe event
                channel.awaitEvent(Duration.ZERO).shouldBeNull()
            }
        }

        test("should wait, and let a step take, as long as a duration can be") {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val id = channel.id(PortSpace.TCP)
                id.resolveAddress(PEER, ChronoUnit.FOREVER.duration)
                fake.queue(channel, ConnectionEventType.ADDR_RESOLVED.code(), id.handle())
                channel.awaitEvent(ChronoUnit.FOREVER.duration)?.type() shouldBe ConnectionEventType.ADDR_RESOLVED
            }
        }

        test("should keep the number of an event that it does not know") {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val id = channel.id(PortSpace.TCP)
                fake.queue(channel, 99, id.handle())
                val event = channel.next()
                event.type() shouldBe ConnectionEventType.UNKNOWN
                event.rawType() shouldBe 99
                event.toString() shouldBe "event 99 on connection id (TCP)"
                event.orThrow() shouldBe event
            }
        }

        test("should give the address, queue pair and key of datagrams and multicast groups") {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val id = channel.id(PortSpace.UDP)
                for (type in listOf(ConnectionEventType.ESTABLISHED, ConnectionEventType.MULTICAST_JOIN)) {
                    fake.queue(channel, type.code(), id.handle()) {
                        val address = it.asSlice(RdmaCmEvent.PARAM_UD_AH_ATTR.toLong())
                        Structures.ADDRESS.write(AddressAttributes.toLid(5, 1), address)
                        it.set(JAVA_INT, RdmaCmEvent.PARAM_UD_QP_NUM.toLong(), 0xffffff)
                        it.set(JAVA_INT, RdmaCmEvent.PARAM_UD_QKEY.toLong(), 0x1234567)
                    }
                    val event = channel.next()
                    event.address() shouldBe AddressAttributes.toLid(5, 1)
                    event.queuePairNumber() shouldBe 0xffffff
                    event.qkey() shouldBe 0x1234567
                    event.responderResources() shouldBe 0
                }
            }
        }

        listOf(
            Triple(
                ConnectionEventType.ADDR_ERROR,
                ConnectionStep.RESOLVE_ADDRESS,
                "resolving the address 10.0.0.1:7471 failed: ",
            ),
            Triple(
                ConnectionEventType.ROUTE_ERROR,
                ConnectionStep.RESOLVE_ROUTE,
                "resolving the route to 10.0.0.1:7471 failed: ",
            ),
            Triple(ConnectionEventType.CONNECT_ERROR, ConnectionStep.CONNECT, "connecting to 10.0.0.1:7471 failed: "),
            Triple(UNREACHABLE, ConnectionStep.CONNECT, "connecting to 10.0.0.1:7471 failed: "),
            Triple(
                ConnectionEventType.MULTICAST_ERROR,
                ConnectionStep.JOIN_MULTICAST,
                "joining the multicast group 239.0.0.9:0 failed: ",
            ),
            Triple(
                ConnectionEventType.DEVICE_REMOVAL,
                ConnectionStep.STAY_CONNECTED,
                "staying connected to 10.0.0.1:7471 failed: ",
            ),
        ).forEach { (type, step, begins) ->
            test("should throw an exception for $type that names step, address, reason and what to do") {
                val fake = FakeConnectionManager()
                fake.open().use { channel ->
                    val id = channel.id(PortSpace.UDP)
                    id.resolveAddress(PEER, SECOND)
                    id.joinMulticast(InetSocketAddress("239.0.0.9", 0))
                    for (errno in listOf(Errno.ENODEV, Errno.ETIMEDOUT)) {
                        fake.queue(channel, type.code(), id.handle(), status = -errno)
                        val event = channel.next()
                        val error = shouldThrow<ConnectionException> { event.orThrow() }
                        error.message shouldStartWith
                            begins + if (errno == Errno.ENODEV) "ENODEV (No such device). " else "ETIMEDOUT ("
                        error.message!!.substringAfter("). ").length shouldBeGreaterThan 20 // some advice
                        error.step() shouldBe step
                        error.errno() shouldBe errno
                        (error is ConnectionTimeoutException) shouldBe (errno == Errno.ETIMEDOUT)
                        event.type().isError shouldBe true
                    }
                }
            }
        }

        RejectReason.entries.filter { it != RejectReason.UNKNOWN }.forEach { reason ->
            test("should name the reason $reason of a rejection") {
                val fake = FakeConnectionManager()
                fake.open().use { channel ->
                    val id = channel.id(PortSpace.TCP)
                    id.resolveAddress(PEER, SECOND)
                    fake.queue(
                        channel,
                        REJECTED.code(),
                        id.handle(),
                        status = reason.code(),
                        privateData = byteArrayOf(7),
                    )
                    val error = shouldThrow<ConnectionRejectedException> { channel.next().orThrow() }
                    error.reason() shouldBe reason
                    error.rawReason() shouldBe reason.code()
                    error.errno() shouldBe 0
                    error.privateData().toList() shouldContainExactly listOf<Byte>(7)
                    error.message shouldStartWith
                        "connecting to 10.0.0.1:7471 failed: rejected, reason ${reason.code()} ($reason). "
                }
            }
        }

        test(
            "should keep an unknown reason, and tell iWARP's rejections by errno and datagrams' by their own numbers",
        ) {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val id = channel.id(PortSpace.UDP)
                id.resolveAddress(PEER, SECOND)

                fun rejection(
                    type: ConnectionEventType,
                    status: Int,
                    said: String = "",
                ): ConnectionRejectedException {
                    fake.queue(channel, type.code(), id.handle(), status, privateData = said.encodeToByteArray())
                    return shouldThrow { channel.next().orThrow() }
                }
                rejection(REJECTED, 200).run {
                    reason() shouldBe RejectReason.UNKNOWN
                    rawReason() shouldBe 200
                    message shouldContain "rejected, reason 200. "
                }
                rejection(REJECTED, -Errno.ECONNREFUSED).run {
                    errno() shouldBe Errno.ECONNREFUSED
                    message shouldContain "ECONNREFUSED (Connection refused). Nobody listens"
                }
                rejection(REJECTED, -Errno.ECONNREFUSED, "full").message shouldContain
                    "ECONNREFUSED (Connection refused). The peer's program said no: full."
                val reasons = (1..6).map { rejection(UNREACHABLE, it).reason() }
                reasons shouldContainExactly
                    listOf(
                        RejectReason.INVALID_SERVICE_ID,
                        RejectReason.CONSUMER_DEFINED,
                        RejectReason.NO_QP,
                        RejectReason.PORT_AND_CM_REDIRECT,
                        RejectReason.INVALID_CLASS_VERSION,
                        RejectReason.UNKNOWN,
                    )
            }
        }

        test("should throw at once what the network says at once, as the event would") {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val id = channel.id(PortSpace.TCP)
                fake.answers["resolveAddress"] = -Errno.ENETUNREACH
                shouldThrow<ConnectionException> { id.resolveAddress(PEER, SECOND) }.message shouldStartWith
                    "resolving the address 10.0.0.1:7471 failed: ENETUNREACH (Network is unreachable). No way leads " +
                    "there: "
                fake.answers["resolveRoute"] = -Errno.EINVAL
                shouldThrow<RdmaSystemException> { id.resolveRoute(SECOND) }.message shouldStartWith
                    "rdma_resolve_route(10.0.0.1:7471) failed: EINVAL (Invalid argument). The address must be " +
                    "resolved first"
            }
        }

        test("should make an id for each request to a listener, which belongs to the channel") {
            val fake = FakeConnectionManager()
            val channel = fake.open()
            val listener = channel.id(PortSpace.TCP)
            val handle = fake.incoming(PEER)
            fake.queue(channel, ConnectionEventType.CONNECT_REQUEST.code(), handle, listener = listener.handle())
            val request = channel.next()
            request.listener() shouldBe listener
            request.id().handle() shouldBe handle
            request.id().isPassive shouldBe true
            request.id().portSpace() shouldBe PortSpace.TCP
            request.id().describe() shouldBe "connection id (TCP) from 10.0.0.1:7471"
            fake.queue(channel, ConnectionEventType.CONNECT_ERROR.code(), handle, status = -Errno.EINVAL)
            shouldThrow<ConnectionException> { channel.next().orThrow() }.step() shouldBe ConnectionStep.ACCEPT
            channel.close()
            fake.live.shouldBeEmpty()
            request.id().isOpen.shouldBeFalse()
        }

        test("should destroy the id of a request whose listener is closed, and drop events of closed ids") {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val listener = channel.id(PortSpace.TCP)
                val closed = channel.id(PortSpace.TCP)
                fake.queue(
                    channel,
                    ConnectionEventType.CONNECT_REQUEST.code(),
                    fake.incoming(PEER),
                    listener = listener.handle(),
                )
                fake.queue(channel, ConnectionEventType.DISCONNECTED.code(), closed.handle())
                listener.close()
                closed.close()
                channel.awaitEvent(Duration.ZERO).shouldBeNull()
                fake.live.shouldBeEmpty()
                fake.calls.count { it.first == "ackEvent" } shouldBe 2
            }
        }

        test("should belong to the channel that it was moved to, and stay where it is if that is refused") {
            val fake = FakeConnectionManager()
            val from = fake.open()
            fake.open().use { to ->
                val id = from.id(PortSpace.TCP)
                fake.answers["migrateId"] = -Errno.ENOMEM
                shouldThrow<RdmaSystemException> { id.migrate(to) }.operation() shouldBe "rdma_migrate_id"
                id.channel() shouldBe from
                fake.queue(from, ConnectionEventType.DISCONNECTED.code(), id.handle())
                from.next().id() shouldBe id
                fake.answers.clear()
                id.migrate(to)
                id.channel() shouldBe to
                fake.queue(to, ConnectionEventType.DISCONNECTED.code(), id.handle())
                to.next().id() shouldBe id
                from.close()
                id.isOpen shouldBe true
                shouldThrow<IllegalStateException> { id.migrate(from) }.message shouldContain
                    "connection event channel (fake) is closed"
                FakeConnectionManager().open().use { other ->
                    shouldThrow<IllegalArgumentException> { id.migrate(other) }.message shouldContain
                        "it is of another provider"
                }
            }
            fake.live.shouldBeEmpty()
        }

        test("should leave nothing of an id that is closed while it moves, in either channel") {
            val fake = FakeConnectionManager()
            val from = fake.open()
            val to = fake.open()
            // These threads make and close ids in the other channel, which makes the move longer.
            val others =
                List(2) { thread(isDaemon = true) { while (to.isOpen) runCatching { to.id(PortSpace.TCP).close() } } }
            val closed =
                List(500) {
                    val id = from.id(PortSpace.TCP)
                    lateinit var closing: Thread
                    fake.whileMigrating = {
                        closing = thread { id.close() }
                        while (id.isOpen) Thread.yield() // it waits for the call to return
                    }
                    id.migrate(to)
                    closing.join()
                    WeakReference(id)
                }
            fake.whileMigrating = {}

            fun kept() = closed.count { it.get() != null }
            for (attempt in 1..100) {
                System.gc()
                if (kept() == 0) break
                Thread.sleep(10)
            }
            val left = kept()
            from.close()
            to.close()
            others.forEach { it.join() }
            withClue("of ${closed.size} ids that were closed, the channels still hold this many") { left shouldBe 0 }
            fake.live.shouldBeEmpty()
        }

        test("should refuse every call on a closed id and a closed channel, by name") {
            val fake = FakeConnectionManager()
            val channel = fake.open()
            val id = channel.id(PortSpace.TCP)
            id.bind(PEER)
            id.close()
            val calls =
                listOf<() -> Unit>(
                    { id.bind(PEER) },
                    { id.resolveAddress(PEER, SECOND) },
                    { id.listen(1) },
                    { id.disconnect() },
                    { id.port() },
                    { id.localAddress() },
                    { id.options().typeOfService(1) },
                    { id.queuePairAttributes(QueuePairState.INIT) },
                )
            calls.forEach { shouldThrow<IllegalStateException> { it() }.message shouldContain " is closed" }
            fake.calls.clear()
            channel.close()
            val onChannel =
                listOf<() -> Unit>(
                    { channel.id(PortSpace.TCP) },
                    { channel.awaitEvent(Duration.ZERO) },
                    { channel.fd() },
                )
            onChannel.forEach {
                shouldThrow<IllegalStateException> { it() }.message shouldStartWith
                    "connection event channel (fake) is closed"
            }
            withClue("calls that reached the manager") {
                fake.calls.map { it.first } shouldContainExactly
                    listOf("destroyEventChannel")
            }
        }

        test(
            "should refuse addresses without IP, timeouts of nothing and port spaces that are none, before the " +
                "manager sees them",
        ) {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val id = channel.id(PortSpace.TCP)
                val nameless = InetSocketAddress.createUnresolved("peer.invalid", 7471)
                shouldThrow<IllegalArgumentException> { id.resolveAddress(nameless, SECOND) }.message shouldStartWith
                    "the host name of peer.invalid"
                shouldThrow<IllegalArgumentException> { id.bind(nameless) }.message shouldContain "has no IP address"
                shouldThrow<IllegalArgumentException> { id.resolveAddress(PEER, Duration.ZERO) }.message shouldBe
                    "timeout PT0S is out of range: give a time above 0"
                shouldThrow<IllegalArgumentException> { id.joinMulticast(PEER) }.message shouldStartWith
                    "10.0.0.1:7471 is no multicast address"
                shouldThrow<IllegalArgumentException> { id.reject(ByteArray(256)) }.message shouldBe
                    "length of private data 256 is out of range: 0 to 255"
                shouldThrow<IllegalArgumentException> { id.rejectEce(ByteArray(256)) }.message shouldContain
                    "out of range"
                shouldThrow<IllegalArgumentException> {
                    AddressHints
                        .passive(
                            PortSpace.TCP,
                        ).from(PEER)
                }.message shouldBe
                    "hints for a listening id have the source 10.0.0.1:7471: leave it out, and ask for the address " +
                    "to listen on as the host"
                val toListenOn = AddressInfo(PortSpace.TCP, PortSpace.TCP.code(), QueuePairType.RC, PEER, null)
                shouldThrow<IllegalArgumentException> { id.resolveAddress(toListenOn, SECOND) }.message shouldContain
                    "has no destination"
                shouldThrow<IllegalArgumentException> { channel.id(PortSpace.UNKNOWN) }.message shouldContain
                    "take TCP for connections"
                fake.calls.shouldBeEmpty()
            }
        }

        test("should keep an id that the manager refuses to destroy, and destroy it at the next close") {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val id = channel.id(PortSpace.TCP)
                fake.answers["destroyId"] = -Errno.EBUSY
                shouldThrow<RdmaSystemException> { id.close() }.operation() shouldBe "rdma_destroy_id"
                fake.answers.clear()
                id.close()
                fake.live.shouldBeEmpty()
            }
        }

        test("should close the channel of a synchronous id that an error kept from being made") {
            val fake = FakeConnectionManager()
            fake.open().use { channel ->
                val id = channel.id(PortSpace.TCP)
                fake.whileMigrating = { throw OutOfMemoryError("planted") }
                shouldThrow<OutOfMemoryError> { SynchronousConnectionId.of(id) }
                fake.calls.map { it.first } shouldContainExactly listOf("destroyEventChannel")
            }
        }

        test("should run every action of a close, and destroy all, although actions throw errors") {
            val fake = FakeConnectionManager()
            val channel = fake.open()
            val id = channel.id(PortSpace.TCP)
            val ran = mutableListOf<Int>()
            id.beforeClosed { throw OutOfMemoryError("first") }
            id.beforeClosed { ran += 1 }
            id.whenClosed { throw StackOverflowError("second") }
            id.whenClosed { ran += 2 }
            channel.whenClosed { throw IllegalStateException("third") }
            channel.whenClosed { ran += 3 }
            val failure = shouldThrow<OutOfMemoryError> { channel.close() }
            failure.message shouldBe "first"
            failure.suppressed.map { it.message } shouldContainExactly listOf("second", "third")
            ran shouldContainExactly listOf(1, 2, 3)
            fake.live.shouldBeEmpty()
        }
    })
