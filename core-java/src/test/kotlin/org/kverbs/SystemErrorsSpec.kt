package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.TransportType
import org.kverbs.internal.ErrnoNames
import org.kverbs.internal.MemlockLimit
import org.kverbs.internal.QueuePairTransitions
import org.kverbs.internal.abi.Errno

class SystemErrorsSpec :
    FunSpec({
        fun advice(
            operation: String,
            errno: Int,
        ) = SystemErrors.of(operation, errno).advice()

        test("should take an errno as it is or negated") {
            SystemErrors.of("ibv_alloc_pd", -Errno.ENOMEM).errnoName() shouldBe "ENOMEM"
            SystemErrors.of("ibv_alloc_pd", Errno.ENOMEM).errnoName() shouldBe "ENOMEM"
            SystemErrors.workRequest("ibv_post_send", -Errno.EINVAL, 0, 1).errnoName() shouldBe "EINVAL"
        }

        test("should pass a result on and throw a negative one") {
            SystemErrors.check("ibv_query_pkey", 0xffff) shouldBeExactly 0xffff
            SystemErrors.check("ibv_dealloc_pd", 0) shouldBeExactly 0
            shouldThrow<RdmaSystemException> {
                SystemErrors.check(
                    "ibv_dealloc_pd(rxe0)",
                    -Errno.EBUSY,
                )
            }.errno() shouldBe
                Errno.EBUSY
        }

        listOf(
            "ibv_reg_mr(length=65536)",
            "ibv_rereg_mr",
            "ibv_create_cq",
            "ibv_resize_cq",
            "ibv_create_qp",
            "ibv_create_srq",
        ).forEach {
            test("should answer ENOMEM of $it with the memlock limit of this process") {
                advice(it, Errno.ENOMEM) shouldBe MemlockLimit.current().advice()
            }
        }

        test("should not blame the memlock limit where nothing is pinned") {
            advice("ibv_alloc_pd", Errno.ENOMEM) shouldStartWith "The machine or the device is short of memory"
        }

        test("should answer a device that does not open with its node's permissions") {
            listOf(Errno.EACCES, Errno.EPERM, Errno.ENOENT).forEach {
                advice("ibv_open_device(rxe0)", it) shouldContain "/dev/infiniband/uverbsN, open to this user"
            }
        }

        listOf(
            Triple("ibv_query_device_ex", Errno.EOPNOTSUPP, "does not offer this call"),
            Triple("ibv_get_device_list", Errno.ENOSYS, "modprobe ib_uverbs"),
            Triple("ibv_dealloc_pd", Errno.EBUSY, "still in use by queue pairs, shared receive queues, memory regions"),
            Triple("ibv_destroy_cq", Errno.EBUSY, "still in use by queue pairs"),
            Triple("ibv_destroy_comp_channel", Errno.EBUSY, "still in use by completion queues"),
            Triple("ibv_destroy_srq", Errno.EBUSY, "still in use by queue pairs"),
            Triple("ibv_destroy_qp", Errno.EBUSY, "multicast"),
            Triple("ibv_dereg_mr", Errno.EINVAL, "memory windows"),
            Triple("ibv_query_port", Errno.ENODEV, "went away"),
            Triple("ibv_query_pkey", Errno.ENOENT, "Check the port number"),
            Triple("ibv_reg_mr", Errno.EFAULT, "not mapped, or is not writable"),
            Triple("ibv_reg_mr", Errno.EINVAL, "REMOTE_ATOMIC need LOCAL_WRITE"),
            Triple("ibv_create_cq", Errno.EINVAL, "max_cqe"),
            Triple("ibv_create_qp", Errno.EINVAL, "max_qp_wr"),
            Triple("ibv_create_qp", Errno.EPERM, "CAP_NET_RAW"),
            Triple("ibv_create_ah", Errno.EINVAL, "GRH"),
            Triple("ibv_create_ah", Errno.ENODATA, "GID table is empty"),
            Triple("ibv_create_comp_channel", Errno.EMFILE, "ulimit -n"),
            Triple("ibv_create_ah", Errno.ETIMEDOUT, "could not be resolved"),
            Triple("ibv_poll_cq", Errno.EPERM, "overran"),
            Triple("rdma_create_event_channel()", Errno.ENOENT, "modprobe rdma_ucm"),
            Triple("rdma_create_event_channel()", Errno.EACCES, "open to this user"),
            Triple("rdma_create_event_channel()", Errno.EMFILE, "ulimit -n"),
            Triple("rdma_bind_addr(10.0.0.1:5)", Errno.EADDRINUSE, "choose another port"),
            Triple("rdma_bind_addr(10.0.0.1:5)", Errno.EADDRNOTAVAIL, "no address of this machine"),
            Triple("rdma_bind_addr(10.0.0.1:5)", Errno.ENODEV, "No RDMA device has that address"),
            Triple("rdma_bind_addr", Errno.EINVAL, "bound once"),
            Triple("rdma_listen", Errno.EINVAL, "listens once"),
            Triple("rdma_resolve_addr", Errno.EINVAL, "of the same family"),
            Triple("rdma_resolve_route", Errno.EINVAL, "wait for ADDR_RESOLVED"),
            Triple("rdma_connect", Errno.EINVAL, "at most 56 bytes"),
            Triple("rdma_accept", Errno.EINVAL, "at most 196 bytes"),
            Triple("rdma_reject", Errno.EINVAL, "at most 148 bytes"),
            Triple("rdma_reject_ece", Errno.EINVAL, "at most 148 bytes"),
            Triple("rdma_establish", Errno.EINVAL, "answers CONNECT_RESPONSE"),
            Triple("rdma_disconnect", Errno.EINVAL, "isn't connected"),
            Triple("rdma_init_qp_attr", Errno.EINVAL, "bound to a device"),
            Triple("rdma_notify", Errno.EINVAL, "being made"),
            Triple("rdma_join_multicast_ex", Errno.EINVAL, "port space UDP or IPOIB"),
            Triple("rdma_join_multicast_ex", Errno.ENOSYS, "does not offer this call"),
            Triple("rdma_leave_multicast", Errno.EADDRNOTAVAIL, "has not joined"),
            Triple("rdma_set_option", Errno.EINVAL, "too late"),
            Triple("rdma_set_local_ece", Errno.EINVAL, "vendor"),
            Triple("rdma_getaddrinfo", Errno.ENOENT, "no such host or service"),
            Triple("rdma_getaddrinfo", Errno.EAGAIN, "No name server answers"),
            Triple("rdma_getaddrinfo", Errno.EINVAL, "leave out the host"),
            Triple("rdma_create_id(TCP)", Errno.ENOMEM, "short of memory"),
        ).forEach { (operation, errno, expected) ->
            test("should answer ${ErrnoNames.name(errno)} of $operation with a hint: $expected") {
                advice(operation, errno) shouldContain expected
            }
        }

        test("should say nothing where it knows nothing") {
            advice("ibv_alloc_pd", Errno.EPIPE).shouldBeEmpty()
        }

        test("should find the function before its arguments") {
            advice("ibv_destroy_qp(RC queue pair 17)", Errno.EBUSY) shouldBe advice("ibv_destroy_qp", Errno.EBUSY)
        }

        test("should tell full queues apart, and name the setting that makes each longer") {
            mapOf(
                "ibv_post_send" to "The send queue is full",
                "ibv_post_recv" to "max_recv_wr",
                "ibv_post_srq_recv" to "The shared receive queue is full",
                "ibv_bind_mw(window)" to "The send queue is full",
            ).forEach { (operation, expected) ->
                withClue(operation) {
                    SystemErrors.workRequest(operation, Errno.ENOMEM, 0, 1).advice() shouldContain
                        expected
                }
            }
        }

        test("should list for a refused work request what to check") {
            SystemErrors.workRequest("ibv_post_send", Errno.EINVAL, 0, 1).advice() shouldContain "max_inline_data"
            SystemErrors.workRequest("ibv_post_recv", Errno.EINVAL, 0, 1).advice() shouldContain "max_recv_sge"
            SystemErrors.workRequest("ibv_post_srq_recv", Errno.EINVAL, 0, 1).advice() shouldContain "max_sge"
            SystemErrors.workRequest("ibv_bind_mw", Errno.EINVAL, 0, 1).advice() shouldContain "MW_BIND"
            SystemErrors.workRequest("ibv_post_send", Errno.EOPNOTSUPP, 0, 1).advice() shouldContain
                "does not offer this operation"
        }

        test("should explain EINVAL of a modification by its transition, and other errors as usual") {
            fun refused(errno: Int) =
                SystemErrors
                    .modifyQueuePair(
                        17,
                        TransportType.IB,
                        QueuePairType.RC,
                        QueuePairState.INIT,
                        QueuePairState.RTS,
                        1,
                        errno,
                    ).message!!

            refused(-Errno.EINVAL) shouldBe
                "ibv_modify_qp(RC queue pair 17, INIT -> RTS) failed: EINVAL (Invalid argument). " +
                QueuePairTransitions.explain(QueuePairType.RC, QueuePairState.INIT, QueuePairState.RTS, 1)
            refused(Errno.EPERM) shouldContain "Q_Key with its highest bit set"
            SystemErrors
                .modifyQueuePair(
                    17,
                    TransportType.IB,
                    QueuePairType.RC,
                    QueuePairState.UNKNOWN,
                    QueuePairState.RTR,
                    1,
                    Errno.ENODATA,
                ).message shouldStartWith
                "ibv_modify_qp(RC queue pair 17, to RTR) failed: ENODATA (No data available). "
        }

        test(
            "should say how iWARP is connected where it refuses to be by a modification, and explain other changes " +
                "as usual",
        ) {
            fun refused(to: QueuePairState) =
                SystemErrors
                    .modifyQueuePair(
                        17,
                        TransportType.IWARP,
                        QueuePairType.RC,
                        QueuePairState.RESET,
                        to,
                        1,
                        Errno.EINVAL,
                    ).advice()

            listOf(QueuePairState.INIT, QueuePairState.RTR, QueuePairState.RTS).forEach {
                refused(it) shouldContain "connected by the connection manager only"
                refused(it) shouldContain "rdmaServer and rdmaClient, or RdmaHost"
            }
            refused(QueuePairState.SQD) shouldBe
                QueuePairTransitions.explain(QueuePairType.RC, QueuePairState.RESET, QueuePairState.SQD, 1)
        }
    })
