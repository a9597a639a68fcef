"""Plays rping, ucmatose or udaddy by the connection manager of Pyverbs, in the messages and counts that TalkParts has; or
a server that rejects its client ("refusal"); or a member of the multicast group of a port, which sends first
("multicast"). rping uses calls that wait, the others the events of a channel. Each end gives its peer private data; the
calls that wait do not show the peer's.

    python3 talk.py rping|ucmatose|udaddy|refusal|multicast server|client ADDRESS PORT
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
OURS, THEIRS, REASON = b"from Pyverbs", b"from kverbs", b"no room"


def parameters(number=0):
    made = ConnParam(qp_num=number, data_len=len(OURS))
    made.set_private_data(OURS)
    return made


def attributes(kind):
    return QPInitAttr(qp_type=kind, cap=QPCap(max_send_wr=16, max_recv_wr=16, max_send_sge=1, max_recv_sge=1))


def checked(completion, opcode):
    if completion.status != e.IBV_WC_SUCCESS or completion.opcode != opcode:
        raise RuntimeError(f"status {completion.status} and opcode {completion.opcode} in place of success and {opcode}")
    return completion


def text(number, words=""):
    """The bytes of a ping: the words, letters, and a zero."""
    letters = (words[i] if i < len(words) else chr(65 + (i + number) % 26) for i in range(PING_BYTES - 1))
    return "".join(letters).encode() + b"\0"


def start(number):
    """The words that rping begins a ping with."""
    return f"rdma-ping-{number}: "


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
            data = local.read(length, 0)
            assert data in (text(number), text(number, start(number))), f"ping {number} is {data[:40]}"
            self.send_note()
            address, key, _ = self.note()
            self.id.post_write(local, PING_BYTES, address, key, e.IBV_SEND_SIGNALED)
            checked(self.id.get_send_comp(), e.IBV_WC_RDMA_WRITE)
            self.send_note()

    def ask(self):
        source, sink = self.id.reg_read(PING_BYTES), self.id.reg_write(PING_BYTES)
        for number in range(PINGS):
            data = text(number, start(number))
            source.write(data, PING_BYTES)
            for one in (source, sink):
                self.send_note(one.buf, one.rkey, PING_BYTES)
                self.note()
            back = sink.read(PING_BYTES, 0)
            assert back == data, f"ping {number} came back as {back[:40]}"


def address_info(role, space, address, port):
    if role in ("server", "member"):
        return AddrInfo(src=address, src_service=port, port_space=space, flags=ce.RAI_PASSIVE)
    return AddrInfo(dst=address, dst_service=port, port_space=space)


def rping(role, address, port):
    end = CMID(creator=address_info(role, ce.RDMA_PS_TCP, address, port), qp_init_attr=attributes(e.IBV_QPT_RC))
    if role == "server":
        end.listen()
        connection = end.get_request()
        ping = Ping(connection)
        connection.accept(parameters())
        ping.serve()
        connection.disconnect()
    else:
        ping = Ping(end)
        end.connect(parameters())
        ping.ask()
        end.disconnect()


class Channel:
    """The events of the connection manager, and the identifier of this end."""

    def __init__(self, role, space, kind, address, port):
        self.channel = CMEventChannel()
        info = address_info(role, space, address, port)
        self.id = CMID(creator=self.channel, port_space=space)
        if role == "server":
            self.id.bind_addr(info)
            self.id.listen()
            self.listener = self.id
            request = self.expect(ce.RDMA_CM_EVENT_CONNECT_REQUEST, THEIRS)
            self.id = CMID(creator=request, listen_id=self.listener)
            request.ack_cm_event()
        elif role == "member":
            self.id.bind_addr(info)
        else:
            self.id.resolve_addr(info, TIMEOUT)
            self.await_event(ce.RDMA_CM_EVENT_ADDR_RESOLVED)
            self.id.resolve_route(TIMEOUT)
            self.await_event(ce.RDMA_CM_EVENT_ROUTE_RESOLVED)
        self.id.create_qp(attributes(kind))

    def expect(self, kind, data=b""):
        """The next event, with the private data of the peer. The caller acknowledges it."""
        event = CMEvent(self.channel)
        if event.event_type != kind:
            raise RuntimeError(f"{event.event_str()} in place of event {kind}")
        assert event.private_data.startswith(data), f"private data of {event.event_str()}: {event.private_data}"
        return event

    def await_event(self, kind, data=b""):
        self.expect(kind, data).ack_cm_event()

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
        end.id.accept(parameters())
        end.await_event(ce.RDMA_CM_EVENT_ESTABLISHED)
    else:
        end.id.connect(parameters())
        end.await_event(ce.RDMA_CM_EVENT_ESTABLISHED, THEIRS)
    if role == "server":
        end.send_all(end.id.post_send)
        end.receive_all()
        end.id.disconnect()
    else:
        end.receive_all()
        end.send_all(end.id.post_send)
    end.await_event(ce.RDMA_CM_EVENT_DISCONNECTED)


def udaddy(role, address, port):
    end = Channel(role, ce.RDMA_PS_UDP, e.IBV_QPT_UD, address, port)
    end.post_receives(GRH)
    if role == "server":
        end.id.accept(parameters(end.id.qpn))
        first = end.receive_all(GRH)[0]
        number, to = first.src_qp, AH(end.id.pd, wc=first, grh=end.inboxes[0].buf, port_num=PORT)
    else:
        end.id.connect(parameters())
        established = end.expect(ce.RDMA_CM_EVENT_ESTABLISHED, THEIRS)
        service = UDParam(established)
        established.ack_cm_event()
        number, to = service.qp_num, AH(end.id.pd, attr=service.ah_attr)
    end.send_all(lambda memory: end.id.post_ud_send(memory, to, number))
    if role == "client":
        end.receive_all(GRH)


def refusal(role, address, port):
    end = Channel(role, ce.RDMA_PS_TCP, e.IBV_QPT_RC, address, port)
    if role == "server":
        end.id.reject(REASON)
    else:
        end.id.connect(parameters())
        end.await_event(ce.RDMA_CM_EVENT_REJECTED, REASON)


def multicast(_, address, port):
    end = Channel("member", ce.RDMA_PS_UDP, e.IBV_QPT_UD, address, "0")
    end.post_receives(GRH)
    group = AddrInfo(src=f"239.1.{int(port) >> 8}.{int(port) & 255}", port_space=ce.RDMA_PS_UDP, flags=ce.RAI_PASSIVE)
    end.id.join_multicast(group)
    joined = end.expect(ce.RDMA_CM_EVENT_MULTICAST_JOIN)
    place = UDParam(joined)
    joined.ack_cm_event()
    to = AH(end.id.pd, attr=place.ah_attr)
    end.send_all(lambda memory: end.id.post_ud_send(memory, to, place.qp_num))
    end.receive_all(GRH)
    end.id.leave_multicast(group)


{"rping": rping, "ucmatose": ucmatose, "udaddy": udaddy, "refusal": refusal,
 "multicast": multicast}[sys.argv[1]](*sys.argv[2:])
