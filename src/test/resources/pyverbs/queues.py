"""A device, memory and one queue pair."""
import signal
import socket
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ, CQEX, CompChannel, CqInitAttrEx
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

PORT = 1
MEMORY = 12 << 20
ENTRIES = 128
PSN = 0x123456
PATIENCE = 20
REMOTE = e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_WRITE
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | REMOTE | e.IBV_ACCESS_REMOTE_ATOMIC
TYPES = {"RC": e.IBV_QPT_RC, "UC": e.IBV_QPT_UC, "UD": e.IBV_QPT_UD}
OPERATIONS = {
    "SEND": e.IBV_WR_SEND,
    "SEND_WITH_IMMEDIATE": e.IBV_WR_SEND_WITH_IMM,
    "SEND_WITH_INVALIDATE": e.IBV_WR_SEND_WITH_INV,
    "WRITE": e.IBV_WR_RDMA_WRITE,
    "WRITE_WITH_IMMEDIATE": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "READ": e.IBV_WR_RDMA_READ,
    "COMPARE_AND_SWAP": e.IBV_WR_ATOMIC_CMP_AND_SWP,
    "FETCH_AND_ADD": e.IBV_WR_ATOMIC_FETCH_AND_ADD,
}
SENDS = e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_SEND_WITH_IMM
WRITES = e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
EXTENDED = {
    "UD": SENDS,
    "UC": SENDS | WRITES,
    "RC": SENDS | WRITES | e.IBV_QP_EX_WITH_RDMA_READ | e.IBV_QP_EX_WITH_SEND_WITH_INV | e.IBV_QP_EX_WITH_BIND_MW
    | e.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | e.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
}
FIELDS = e.IBV_WC_EX_WITH_BYTE_LEN | e.IBV_WC_EX_WITH_IMM | e.IBV_WC_EX_WITH_QP_NUM | e.IBV_WC_EX_WITH_SRC_QP


class End:
    def __init__(self, device, gid_index):
        self.context = Context(name=device)
        self.gid_index = int(gid_index)
        self.pd = PD(self.context)
        self.mr = MR(self.pd, MEMORY, ACCESS | e.IBV_ACCESS_MW_BIND)
        self.qp = self.cq = self.srq = self.channel = self.address = self.window_of = None
        # Ends a wait for an event after a second, so that the time that is left can be looked at.
        signal.signal(signal.SIGALRM, lambda *_: None)

    def open(self, kind, qkey, *ways):
        """Makes a queue pair. Ways are "extended" (made, posted to and polled by the extended calls), "shared" (it
        receives from a shared receive queue), "events" (waits for events of a completion channel) and "atomic_write".
        """
        self.close()
        self.kind, self.qkey, self.extended = kind, int(qkey), "extended" in ways
        if "events" in ways:
            self.channel = CompChannel(self.context)
        if self.extended:
            self.cq = CQEX(self.context, CqInitAttrEx(cqe=ENTRIES, wc_flags=FIELDS))
        else:
            self.cq = CQ(self.context, ENTRIES, None, self.channel, 0)
        if "shared" in ways:
            self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=64, max_sge=4)))
        common = {
            "qp_type": TYPES[kind], "scq": self.cq, "rcq": self.cq, "srq": self.srq, "sq_sig_all": 0,
            "cap": QPCap(max_send_wr=64, max_recv_wr=64, max_send_sge=4, max_recv_sge=4, max_inline_data=64),
        }
        if self.extended:
            operations = EXTENDED[kind] | (e.IBV_QP_EX_WITH_ATOMIC_WRITE if "atomic_write" in ways else 0)
            mask = e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
            init = QPInitAttrEx(pd=self.pd, comp_mask=mask, send_ops_flags=operations, **common)
            self.qp = QPEx(self.context, init)
        else:
            self.qp = QP(self.pd, QPInitAttr(**common))
        gid = self.context.query_gid(PORT, self.gid_index)
        return self.qp.qp_num, PSN, gid.gid, 128 << self.context.query_port(PORT).active_mtu

    def connect(self, number, psn, gid, mtu, timeout, retries, rnr_retries, min_rnr_timer):
        attributes = QPAttr(port_num=PORT)
        attributes.pkey_index = 0
        attributes.sq_psn = PSN
        route = GlobalRoute(dgid=GID(gid), sgid_index=self.gid_index)
        address = AHAttr(port_num=PORT, is_global=1, gr=route)
        if self.kind == "UD":
            attributes.qkey = self.qkey
            self.address = AH(self.pd, attr=address), int(number)
        else:
            attributes.qp_access_flags = ACCESS
            attributes.path_mtu = int(mtu).bit_length() - 8
            attributes.dest_qp_num = int(number)
            attributes.rq_psn = int(psn)
            attributes.ah_attr = address
            attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
            attributes.timeout, attributes.retry_cnt = int(timeout), int(retries)
            attributes.rnr_retry, attributes.min_rnr_timer = int(rnr_retries), int(min_rnr_timer)
        self.qp.to_rts(attributes)

    def close(self):
        for one in (self.address and self.address[0], self.qp, self.window_of, self.srq, self.cq, self.channel):
            if one:
                one.close()
        self.qp = self.cq = self.srq = self.channel = self.address = self.window_of = None

    def memory(self):
        return self.mr.buf, self.mr.length, self.mr.rkey

    def put(self, offset, text=""):
        data = bytes.fromhex(text)
        if data:
            self.mr.write(data, len(data), int(offset))

    def get(self, offset, length):
        return (self.mr.read(int(length), int(offset)).hex() if int(length) else "",)

    def entries(self, pieces):
        pairs = [piece.split(":") for piece in pieces.split(",") if piece != "-"]
        return [SGE(self.mr.buf + int(offset), int(length), self.mr.lkey) for offset, length in pairs]

    def receive(self, number, pieces):
        # Pyverbs refuses a request without an entry.
        entries = self.entries(pieces) or [SGE(self.mr.buf, 0, self.mr.lkey)]
        (self.srq or self.qp).post_recv(RecvWR(wr_id=int(number), num_sge=len(entries), sg=entries))

    def post(self, number, operation, pieces, address, key, word, operand, swap, flags):
        numbers = [int(one) for one in (number, address, key, word, operand, swap, flags)]
        (self.post_extended if self.extended else self.post_plain)(operation, self.entries(pieces), *numbers)

    def post_plain(self, operation, entries, number, address, key, word, operand, swap, flags):
        # Pyverbs refuses a request without an entry.
        entries = entries or [SGE(self.mr.buf, 0, self.mr.lkey)]
        request = SendWR(wr_id=number, opcode=OPERATIONS[operation], num_sge=len(entries), sg=entries, send_flags=flags)
        if operation.endswith("IMMEDIATE"):
            request.imm_data = socket.htonl(word)
        elif operation.endswith("INVALIDATE"):
            request.imm_data = word
        if operation in ("COMPARE_AND_SWAP", "FETCH_AND_ADD"):
            request.set_wr_atomic(key, address, operand, swap)
        elif operation.startswith(("WRITE", "READ")):
            request.set_wr_rdma(key, address)
        if self.address:
            request.set_wr_ud(*self.address, self.qkey)
        self.qp.post_send(request)

    def post_extended(self, operation, entries, number, address, key, word, operand, swap, flags):
        self.qp.wr_start()
        self.qp.wr_id = number
        self.qp.wr_flags = flags  # Soft-RoCE needs the flag of inline bytes here, too
        begin = {
            "SEND": lambda: self.qp.wr_send(),
            "SEND_WITH_IMMEDIATE": lambda: self.qp.wr_send_imm(word),
            "SEND_WITH_INVALIDATE": lambda: self.qp.wr_send_inv(word),
            "WRITE": lambda: self.qp.wr_rdma_write(key, address),
            "WRITE_WITH_IMMEDIATE": lambda: self.qp.wr_rdma_write_imm(key, address, word),
            "READ": lambda: self.qp.wr_rdma_read(key, address),
            "COMPARE_AND_SWAP": lambda: self.qp.wr_atomic_cmp_swp(key, address, operand, swap),
            "FETCH_AND_ADD": lambda: self.qp.wr_atomic_fetch_add(key, address, operand),
            "ATOMIC_WRITE": lambda: self.qp.wr_atomic_write(key, address, operand.to_bytes(8, "little")),
        }
        begin[operation]()
        if self.address:
            self.qp.wr_set_ud_addr(*self.address, self.qkey)
        if flags & e.IBV_SEND_INLINE:
            one, = entries
            self.qp.wr_set_inline_data(one.addr, one.length)
        elif operation != "ATOMIC_WRITE":
            self.qp.wr_set_sge_list(len(entries), entries)
        self.qp.wr_complete()

    def poll(self, patience=PATIENCE):
        """The next completion: id, status, opcode, bytes, flags, immediate data, number of the sender."""
        end = time.monotonic() + float(patience)
        armed = False
        while True:
            done = self.poll_extended() if self.extended else self.poll_plain()
            if done or time.monotonic() > end:
                return done
            if self.channel and armed:
                self.await_event()
            elif self.channel:
                self.cq.req_notify()
            armed = not armed

    def poll_plain(self):
        count, completions = self.cq.poll()
        if count:
            one = completions[0]
            return one.wr_id, one.status, one.opcode, one.byte_len, one.wc_flags, socket.ntohl(one.imm_data), one.src_qp
        return ()

    def poll_extended(self):
        cq = self.cq
        if cq.start_poll(None):
            return ()
        done = (cq.wr_id, cq.status, cq.read_opcode(), cq.read_byte_len(), cq.read_wc_flags(),
                socket.ntohl(cq.read_imm_data()), cq.read_src_qp())
        cq.end_poll()
        return done

    def await_event(self):
        signal.alarm(1)
        try:
            self.channel.get_cq_event(self.cq)
            self.cq.ack_events(1)
        except PyverbsRDMAError:
            pass  # The alarm ended the wait.
        finally:
            signal.alarm(0)

    def window(self, offset, length, kind):
        """Binds a window of type 1, by a call of its own, or of type 2, by a request."""
        self.window_of = MW(self.pd, e.IBV_MW_TYPE_1 if kind == "TYPE_1" else e.IBV_MW_TYPE_2)
        part = MWBindInfo(self.mr, self.mr.buf + int(offset), int(length), REMOTE)
        if kind == "TYPE_1":
            self.qp.bind_mw(self.window_of, MWBind(part, send_flags=e.IBV_SEND_SIGNALED, wr_id=99))
            key = self.window_of.rkey
        elif self.extended:
            key = self.window_of.rkey & ~0xff | self.window_of.rkey + 1 & 0xff
            self.qp.wr_start()
            self.qp.wr_id, self.qp.wr_flags = 99, e.IBV_SEND_SIGNALED
            self.qp.wr_bind_mw(self.window_of, key, part)
            self.qp.wr_complete()
        else:
            request = SendWR(wr_id=99, opcode=e.IBV_WR_BIND_MW, send_flags=e.IBV_SEND_SIGNALED)
            request.set_bind_wr(self.window_of, part)
            key = request.rkey
            self.qp.post_send(request)
        bound = self.poll()
        if not bound or bound[1] != e.IBV_WC_SUCCESS:
            raise RuntimeError(f"the window is not bound: {bound}")
        return self.mr.buf + int(offset), int(length), key
