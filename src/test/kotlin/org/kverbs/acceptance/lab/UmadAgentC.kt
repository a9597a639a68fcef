package org.kverbs.acceptance.lab

/**
 * An agent in C over libibumad. `serve DEVICE` answers each request of the vendor's class with its data in reverse.
 * `ask DEVICE INDEX GID QUEUE_PAIR SIZE` sends a request of SIZE bytes, and says whether its answer has the same data.
 */
internal val AGENT =
    """
    #include <arpa/inet.h>
    #include <infiniband/umad.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>

    enum { CLASS = 0x3a, GET = 1, GET_MULTI = 0x14, RESPONSE = 0x80, DATA = 40, ROOM = 1 << 20 };

    static void fail(const char *what) { perror(what); exit(1); }

    static void active(uint8_t *mad, int length) {
        memset(mad + 24, 0, 12);
        if (length > 256) { mad[24] = 1; mad[25] = 1; mad[26] = 1; }
    }

    static void serve(int port, int agent, void *umad) {
        puts("ready");
        fflush(stdout);
        for (;;) {
            int length = ROOM, from = umad_recv(port, umad, &length, -1);
            uint8_t *mad = umad_get_mad(umad);
            if (from != agent || umad_status(umad) || (mad[3] & RESPONSE)) continue;
            for (int a = DATA, b = length - 1; a < b; a++, b--) {
                uint8_t kept = mad[a];
                mad[a] = mad[b];
                mad[b] = kept;
            }
            mad[3] |= RESPONSE;
            active(mad, length);
            umad_get_mad_addr(umad)->qkey = htonl(0x80010000);
            if (umad_send(port, agent, umad, length, 0, 0) < 0) fail("umad_send");
        }
    }

    static void ask(int port, int agent, void *umad, char **to) {
        int length = atoi(to[3]);
        ib_mad_addr_t *address = umad_get_mad_addr(umad);
        address->qkey = htonl(0x80010000);
        address->qpn = htonl(atoi(to[2]));
        address->grh_present = 1;
        address->gid_index = atoi(to[0]);
        address->hop_limit = 64;
        if (inet_pton(AF_INET6, to[1], address->gid) != 1) fail("the GID");
        uint8_t *mad = umad_get_mad(umad);
        mad[0] = 1; mad[1] = CLASS; mad[2] = 1; mad[3] = length > 256 ? GET_MULTI : GET;
        mad[15] = 7; mad[37] = 0x14; mad[38] = 5;
        uint8_t oui[] = {0x00, 0x14, 0x05};
        memcpy(mad + 37, oui, 3);
        active(mad, length);
        for (int i = DATA; i < length; i++) mad[i] = i * 7 + (i >> 8);
        uint8_t *sent = malloc(length);
        memcpy(sent, mad, length);
        if (umad_send(port, agent, umad, length, 15000, 5) < 0) fail("umad_send");
        int came = ROOM;
        if (umad_recv(port, umad, &came, 20000) < 0) fail("umad_recv");
        mad = umad_get_mad(umad);
        int same = !umad_status(umad) && came >= length && !memcmp(mad + DATA, sent + DATA, length - DATA);
        printf("%s %d, status %d, %d bytes\n", same ? "same" : "other", length, umad_status(umad), came);
    }

    int main(int count, char **arguments) {
        uint8_t oui[] = {0x00, 0x14, 0x05};
        uint64_t methods[2] = {1 << GET | 1 << GET_MULTI, 0};
        int serves = count == 3;
        if (umad_init() < 0) fail("umad_init");
        int port = umad_open_port(arguments[2], 1);
        if (port < 0) fail("umad_open_port");
        int agent = umad_register_oui(port, CLASS, 1, oui, serves ? (void *) methods : NULL);
        if (agent < 0) fail("umad_register_oui");
        void *umad = umad_alloc(1, umad_size() + ROOM);
        if (serves) serve(port, agent, umad); else ask(port, agent, umad, arguments + 3);
        return 0;
    }
    """.trimIndent() + "\n"

/** Compiles a C program. */
internal fun compileC(
    source: String,
    program: String,
    vararg options: String,
) {
    val gcc = ProcessBuilder("gcc", "-Wall", "-Werror", "-x", "c", "-", "-o", program, *options)
    val process = gcc.redirectErrorStream(true).start()
    process.outputWriter().use { it.write(source) }
    val said = process.inputReader().readText()
    check(process.waitFor() == 0) { "gcc cannot compile it: $said" }
}
