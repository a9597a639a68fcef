"""One end that PyverbsSide drives: a device, memory and one queue pair of Pyverbs. Each line of the input is a command
with its arguments; each line of the output is its answer. An exception ends the program with a line that says "error".

    python3 pyverbs-peer.py DEVICE GID_INDEX
"""
import socket
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import RecvWR, SGE, SendWR

PORT = 1
MEMORY = 12 << 20
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


class Peer:
    def __init__(self, device, gid_index):
        self.context = Context(name=device)
        self.gid_index = gid_index
        self.pd = PD(self.context)
        self.mr = MR(self.pd, MEMORY, ACCESS | e.IBV_ACCESS_MW_BIND)
        self.qp = self.cq = self.srq = self.address = self.window_of = None

    def open(self, kind, shared, qkey):
        """Makes a queue pair, whose receives come from a shared receive queue if so told."""
        self.close()
        self.kind, self.qkey = kind, int(qkey)
        self.cq = CQ(self.context, 128, None, None, 0)
        if shared == "true":
            self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=64, max_sge=4)))
        cap = QPCap(max_send_wr=64, max_recv_wr=64, max_send_sge=4, max_recv_sge=4)
        init = QPInitAttr(qp_type=TYPES[kind], scq=self.cq, rcq=self.cq, srq=self.srq, cap=cap)
        self.qp = QP(self.pd, init)
        gid = self.context.query_gid(PORT, self.gid_index)
        return self.qp.qp_num, PSN, gid.gid, 128 << self.context.query_port(PORT).active_mtu

    def connect(self, number, psn, gid, mtu):
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
            attributes.timeout, attributes.retry_cnt = 14, 7
            attributes.rnr_retry, attributes.min_rnr_timer = 7, 12
        self.qp.to_rts(attributes)
        return ()

    def close(self):
        for one in (self.window_of, self.address and self.address[0], self.qp, self.srq, self.cq):
            if one:
                one.close()
        self.qp = self.cq = self.srq = self.address = self.window_of = None
        return ()

    def memory(self):
        return self.mr.buf, self.mr.length, self.mr.rkey

    def put(self, offset, text=""):
        data = bytes.fromhex(text)
        if data:
            self.mr.write(data, len(data), int(offset))
        return ()

    def get(self, offset, length):
        return (self.mr.read(int(length), int(offset)).hex() if int(length) else "",)

    def entries(self, pieces):
        pairs = [piece.split(":") for piece in pieces.split(",") if piece != "-"]
        entries = [SGE(self.mr.buf + int(offset), int(length), self.mr.lkey) for offset, length in pairs]
        # Pyverbs refuses a request without an entry.
        return entries or [SGE(self.mr.buf, 0, self.mr.lkey)]

    def receive(self, number, pieces):
        entries = self.entries(pieces)
        request = RecvWR(wr_id=int(number), num_sge=len(entries), sg=entries)
        (self.srq or self.qp).post_recv(request)
        return ()

    def post(self, number, operation, pieces, address, key, word, operand, swap, flags):
        entries = self.entries(pieces)
        request = SendWR(wr_id=int(number), opcode=OPERATIONS[operation], num_sge=len(entries), sg=entries,
                         send_flags=int(flags))
        if operation.endswith("IMMEDIATE"):
            request.imm_data = socket.htonl(int(word))
        elif operation.endswith("INVALIDATE"):
            request.imm_data = int(word)
        if operation in ("COMPARE_AND_SWAP", "FETCH_AND_ADD"):
            request.set_wr_atomic(int(key), int(address), int(operand), int(swap))
        elif operation.startswith(("WRITE", "READ")):
            request.set_wr_rdma(int(key), int(address))
        if self.address:
            request.set_wr_ud(*self.address, self.qkey)
        self.qp.post_send(request)
        return ()

    def poll(self, patience=PATIENCE):
        """The next completion: id, status, opcode, bytes, flags, immediate data, number of the sender."""
        end = time.monotonic() + float(patience)
        while time.monotonic() < end:
            count, completions = self.cq.poll()
            if count:
                one = completions[0]
                return (one.wr_id, one.status, one.opcode, one.byte_len, one.wc_flags, socket.ntohl(one.imm_data),
                        one.src_qp)
        return ()

    def window(self, offset, length):
        self.window_of = MW(self.pd, e.IBV_MW_TYPE_2)
        part = MWBindInfo(self.mr, self.mr.buf + int(offset), int(length), REMOTE)
        request = SendWR(wr_id=99, opcode=e.IBV_WR_BIND_MW, send_flags=e.IBV_SEND_SIGNALED)
        request.set_bind_wr(self.window_of, part)
        key = request.rkey
        self.qp.post_send(request)
        bound = self.poll()
        if bound[1] != e.IBV_WC_SUCCESS:
            raise RuntimeError(f"the window is not bound: status {bound[1]}")
        return self.mr.buf + int(offset), int(length), key


def main():
    peer = Peer(sys.argv[1], int(sys.argv[2]))
    for line in sys.stdin:
        name, *arguments = line.split()
        try:
            print("ok", *(int(a) if isinstance(a, int) else a for a in getattr(peer, name)(*arguments)), flush=True)
        except Exception as failure:
            print("error", type(failure).__name__, " ".join(str(failure).split()), flush=True)
            raise


main()
