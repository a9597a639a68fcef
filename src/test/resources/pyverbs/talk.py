"""Plays rping, ucmatose or udaddy by the connection manager of Pyverbs, in the messages and counts that TalkParts has.
rping uses calls that wait, the others the events of a channel.

    python3 talk.py rping|ucmatose|udaddy server|client ADDRESS PORT
"""
import struct
import sys

import pyverbs.cm_enums as ce
import pyverbs.enums as e
from pyverbs.addr import AH
from pyverbs.cmid import AddrInfo, CMEvent, CMEventChannel, CMID, ConnParam, UDParam
from pyverbs.qp import QPCap, QPInitAttr

PINGS = 10
PING_BYTES = 1000
MESSAGES = 10
BYTES = 100
GRH = 40
PORT = 1
NOTE = struct.Struct(">QII")
TIMEOUT = 5000


def attributes(kind):
    return QPInitAttr(qp_type=kind, cap=QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=1, max_recv_sge=1))


def checked(completion, opcode):
    if completion.status != e.IBV_WC_SUCCESS or completion.opcode != opcode:
        raise RuntimeError(f"status {completion.status} and opcode {completion.opcode} in place of success and {opcode}")
    return completion


def text(number, start=""):
    """The bytes of a ping: letters behind the start, and a zero."""
    letters = (start[i] if i < len(start) else chr(65 + (i + number) % 26) for i in range(PING_BYTES - 1))
    return "".join(letters).encode() + b"\0"


class Ping:
    """One end of rping: a client tells the address of a buffer, the server reads it or writes to it."""

    def __init__(self, connection):
        self.id = connection
        self.inbox = connection.reg_msgs(NOTE.size)
        self.outbox = connection.reg_msgs(NOTE.size)
        self.await_note()

    def await_note(self):
        self.id.post_recv(self.inbox)

    def note(self):
        """The note that arrived: address, key and bytes."""
        checked(self.id.get_recv_comp(), e.IBV_WC_RECV)
        note = NOTE.unpack(self.inbox.read(NOTE.size, 0))
        self.await_note()
        return note

    def send_note(self, address=0, key=0, length=0):
        self.outbox.write(NOTE.pack(address, key, length), NOTE.size)
        self.id.post_send(self.outbox)
        checked(self.id.get_send_comp(), e.IBV_WC_SEND)

    def serve(self):
        local = self.id.reg_write(PING_BYTES)  # iWARP writes into the target of a read
        for number in range(PINGS):
            address, key, length = self.note()
            assert length == PING_BYTES
            self.id.post_read(local, length, address, key, e.IBV_SEND_SIGNALED)
            checked(self.id.get_send_comp(), e.IBV_WC_RDMA_READ)
            assert local.read(length, 0) == text(number), f"ping {number} is {local.read(40, 0)}"
            self.send_note()
            address, key, _ = self.note()
            self.id.post_write(local, PING_BYTES, address, key, e.IBV_SEND_SIGNALED)
            checked(self.id.get_send_comp(), e.IBV_WC_RDMA_WRITE)
            self.send_note()

    def ask(self):
        source, sink = self.id.reg_read(PING_BYTES), self.id.reg_write(PING_BYTES)
        for number in range(PINGS):
            data = text(number, f"rdma-ping-{number}: ")
            source.write(data, PING_BYTES)
            for one in (source, sink):
                self.send_note(one.buf, one.rkey, PING_BYTES)
                self.note()
            back = sink.read(PING_BYTES, 0)
            assert back == data, f"ping {number} came back as {back[:40]}"


def address_info(role, space, address, port):
    if role == "server":
        return AddrInfo(src=address, src_service=port, port_space=space, flags=ce.RAI_PASSIVE)
    return AddrInfo(dst=address, dst_service=port, port_space=space)


def rping(role, address, port):
    end = CMID(creator=address_info(role, ce.RDMA_PS_TCP, address, port), qp_init_attr=attributes(e.IBV_QPT_RC))
    if role == "server":
        end.listen()
        connection = end.get_request()
        ping = Ping(connection)
        connection.accept(ConnParam())
        ping.serve()
        connection.disconnect()
    else:
        ping = Ping(end)
        end.connect(ConnParam())
        ping.ask()
        end.disconnect()


class Channel:
    """The events of the connection manager, and the identifier of this end."""

    def __init__(self, role, space, kind, address, port):
        self.channel = CMEventChannel()
        self.kind = kind
        info = address_info(role, space, address, port)
        self.id = CMID(creator=self.channel, port_space=space)
        if role == "server":
            self.id.bind_addr(info)
            self.id.listen()
            self.listener = self.id
            request = self.expect(ce.RDMA_CM_EVENT_CONNECT_REQUEST, keep=True)
            self.id = CMID(creator=request, listen_id=self.listener)
            request.ack_cm_event()
        else:
            self.id.resolve_addr(info, TIMEOUT)
            self.expect(ce.RDMA_CM_EVENT_ADDR_RESOLVED)
            self.id.resolve_route(TIMEOUT)
            self.expect(ce.RDMA_CM_EVENT_ROUTE_RESOLVED)
        self.id.create_qp(attributes(kind))

    def expect(self, kind, keep=False):
        event = CMEvent(self.channel)
        if event.event_type != kind:
            raise RuntimeError(f"{event.event_str()} in place of event {kind}")
        if not keep:
            event.ack_cm_event()
        return event

    def post_receives(self, before=0):
        self.inboxes = [self.id.reg_msgs(before + BYTES) for _ in range(MESSAGES)]
        for one in self.inboxes:
            self.id.post_recv(one)

    def receive_all(self, before=0):
        done = [checked(self.id.get_recv_comp(), e.IBV_WC_RECV) for _ in range(MESSAGES)]
        assert [one.byte_len for one in done] == [before + BYTES] * MESSAGES
        return done

    def send_all(self, post):
        for _ in range(MESSAGES):
            post(self.id.reg_msgs(BYTES))
        for _ in range(MESSAGES):
            checked(self.id.get_send_comp(), e.IBV_WC_SEND)


def ucmatose(role, address, port):
    end = Channel(role, ce.RDMA_PS_TCP, e.IBV_QPT_RC, address, port)
    end.post_receives()
    if role == "server":
        end.id.accept(ConnParam())
    else:
        end.id.connect(ConnParam())
    end.expect(ce.RDMA_CM_EVENT_ESTABLISHED)
    if role == "server":
        end.send_all(end.id.post_send)
        end.receive_all()
        end.id.disconnect()
    else:
        end.receive_all()
        end.send_all(end.id.post_send)
    end.expect(ce.RDMA_CM_EVENT_DISCONNECTED)


def udaddy(role, address, port):
    end = Channel(role, ce.RDMA_PS_UDP, e.IBV_QPT_UD, address, port)
    end.post_receives(GRH)
    if role == "server":
        end.id.accept(ConnParam(qp_num=end.id.qpn))
        first = end.receive_all(GRH)[0]
        number, to = first.src_qp, AH(end.id.pd, wc=first, grh=end.inboxes[0].buf, port_num=PORT)
    else:
        end.id.connect(ConnParam())
        established = end.expect(ce.RDMA_CM_EVENT_ESTABLISHED, keep=True)
        service = UDParam(established)
        established.ack_cm_event()
        number, to = service.qp_num, AH(end.id.pd, attr=service.ah_attr)
    end.send_all(lambda memory: end.id.post_ud_send(memory, to, number))
    if role == "client":
        end.receive_all(GRH)


{"rping": rping, "ucmatose": ucmatose, "udaddy": udaddy}[sys.argv[1]](*sys.argv[2:])
