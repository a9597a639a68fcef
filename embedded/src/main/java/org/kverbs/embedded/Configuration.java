package org.kverbs.embedded;

import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.kverbs.RdmaException;
import org.kverbs.embedded.internal.cm.EmbeddedConnectionManager;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.udp.PortSockets;
import org.kverbs.embedded.internal.udp.UdpPort;
import org.kverbs.embedded.internal.watch.Watch;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.spi.VerbsDevice;

/** Makes the embedded devices of a process from the words that {@link EmbeddedProvider} explains. */
final class Configuration {

    private static final String PROPERTY = "kverbs.embedded";
    private static final String VARIABLE = "KVERBS_EMBEDDED";
    private static final String DIAGNOSTICS_PROPERTY = "kverbs.embedded.diagnostics";
    private static final String DIAGNOSTICS_VARIABLE = "KVERBS_EMBEDDED_DIAGNOSTICS";
    private static final String SEMANTICS_PROPERTY = "kverbs.embedded.semantics";
    private static final String SEMANTICS_VARIABLE = "KVERBS_EMBEDDED_SEMANTICS";
    private static final String HALF_OPEN_PROPERTY = "kverbs.embedded.halfOpen";
    private static final String HALF_OPEN_VARIABLE = "KVERBS_EMBEDDED_HALF_OPEN";
    private static final String SOCKETS_PROPERTY = "kverbs.embedded.sockets";
    private static final String SOCKETS_VARIABLE = "KVERBS_EMBEDDED_SOCKETS";
    private static final String NONE = "none";
    private static final String DEFAULT = "memory,memory";
    /**
     * The bytes of a packet beside its payload. Soft-RoCE assumes the same number, so that both choose the same MTU on
     * the same link.
     */
    private static final int HEADERS = 80;

    private final String words;
    private final List<VerbsDevice> devices = new ArrayList<>();
    private final List<String> addresses = new ArrayList<>();
    private final SecureRandom random = new SecureRandom();
    private final EmbeddedFabric fabric = EmbeddedFabric.unpredictable(random);

    /** The findings of the devices and of their diagnostics. */
    private final MisuseLog misuses = new MisuseLog(MisuseLog::warn);
    private final @Nullable Watch watch;
    private final Semantics semantics;

    private Configuration(String words, boolean diagnoses, Semantics semantics) {
        this.words = words;
        this.semantics = semantics;
        this.watch = diagnoses ? new Watch(misuses::add) : null;
    }

    /**
     * Reads the property or the environment variable, and makes the devices; without either it makes the default
     * devices.
     */
    static Configuration read() {
        String set = System.getProperty(PROPERTY, System.getenv(VARIABLE));
        boolean diagnoses =
                Boolean.parseBoolean(System.getProperty(DIAGNOSTICS_PROPERTY, System.getenv(DIAGNOSTICS_VARIABLE)));
        Semantics semantics = semantics();
        try {
            Configuration configuration = of(set == null || set.isBlank() ? DEFAULT : set, diagnoses, semantics);
            configuration.limitHalfOpen(System.getProperty(HALF_OPEN_PROPERTY, System.getenv(HALF_OPEN_VARIABLE)));
            return configuration;
        } catch (IllegalArgumentException e) {
            throw new RdmaException("the property " + PROPERTY + ", or else the environment's " + VARIABLE
                    + ", asks for " + e.getMessage(), e);
        }
    }

    private void limitHalfOpen(@Nullable String set) {
        if (set == null || set.isBlank()) {
            return;
        }
        if (!set.strip().matches("[1-9][0-9]{0,5}")) {
            throw new RdmaException("the property " + HALF_OPEN_PROPERTY + ", or else the environment's "
                    + HALF_OPEN_VARIABLE + ", is '"
                    + set + "': give the number of half-open connections that a listener accepts, from 1 to 999999");
        }
        connectionManager().limitHalfOpen(Integer.parseInt(set.strip()));
    }

    /** Makes devices without diagnostics. */
    static Configuration of(String words) {
        return of(words, false, semantics());
    }

    private static Semantics semantics() {
        String set = System.getProperty(SEMANTICS_PROPERTY, System.getenv(SEMANTICS_VARIABLE));
        try {
            String name = set == null || set.isBlank() ? "strict" : set.strip();
            return Semantics.valueOf(name.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            String where = "the property " + SEMANTICS_PROPERTY + ", or else the environment's " + SEMANTICS_VARIABLE;
            throw new RdmaException(where + ", is '" + set + "': use strict or rxe", e);
        }
    }

    /** Tells whether devices may use the sockets of Linux; otherwise they use those of Java. */
    private static boolean hasNativeSockets() {
        String set = System.getProperty(SOCKETS_PROPERTY, System.getenv(SOCKETS_VARIABLE));
        String name = set == null || set.isBlank() ? "native" : set.strip();
        if (!name.equals("native") && !name.equals("java")) {
            throw new RdmaException("the property " + SOCKETS_PROPERTY + ", or else the environment's "
                    + SOCKETS_VARIABLE + ", is '" + set + "': use native or java");
        }
        return name.equals("native");
    }

    private static Configuration of(String words, boolean diagnoses, Semantics semantics) {
        var configuration = new Configuration(words, diagnoses, semantics);
        if (!words.strip().equals(NONE)) {
            for (String word : words.split(",", -1)) {
                configuration.add(word.strip());
            }
        }
        configuration.fabric.connectionManager().reach(configuration.reach());
        return configuration;
    }

    /** The advice for a program that connects to a service that no device has. */
    private String reach() {
        if (devices.isEmpty() || words.contains("udp:")) {
            return ""; // a program that chose an address knows about processes at other addresses
        }
        if (words.contains("udp")) {
            return "Each process with KVERBS_EMBEDDED=udp has its own address: the first free one from"
                    + " 127.0.0.1 on; this one has " + String.join(", ", addresses) + ". A second service on this"
                    + " machine has another address: connect to that address, or choose it with"
                    + " KVERBS_EMBEDDED=udp:ADDRESS when you start the service.";
        }
        String names = devices.stream().map(VerbsDevice::name).collect(Collectors.joining(", "));
        return "The embedded devices of this process (" + names + ") reach only one another. To reach a service in"
                + " another process, start both processes with KVERBS_EMBEDDED=udp (or -Dkverbs.embedded=udp)."
                + " On different hosts, start each with its own KVERBS_EMBEDDED=udp:ADDRESS.";
    }

    List<VerbsDevice> devices() {
        return List.copyOf(devices);
    }

    EmbeddedConnectionManager connectionManager() {
        return fabric.connectionManager();
    }

    List<BufferMisuse> misuses() {
        return misuses.found();
    }

    private void add(EmbeddedDevice device) {
        device.hca().tellOfFreed(misuses::add);
        if (watch != null) {
            device.hca().watch(watch);
        }
        devices.add(device);
    }

    private void add(String word) {
        if (word.equals("memory")) {
            add(fabric.add(name(), semantics, DeviceLimits.DEFAULTS));
        } else if (word.equals("udp")) {
            addUdpAtFreeLoopback();
        } else if (word.startsWith("udp:")) {
            addUdp(address(word.substring("udp:".length())), false);
        } else {
            throw wrong("'" + word + "' is not a kind of device: use memory, udp or udp:ADDRESS, separated by"
                    + " commas, or none alone");
        }
    }

    private IllegalArgumentException wrong(String why) {
        return new IllegalArgumentException("embedded devices '" + words + "': " + why);
    }

    private InetAddress address(String text) {
        InetAddress address;
        try {
            address = InetAddress.ofLiteral(text);
        } catch (IllegalArgumentException e) {
            throw wrong("'" + text + "' is not an IPv4 or IPv6 address");
        }
        if (address.isMulticastAddress() || address.isAnyLocalAddress() || text.equals("255.255.255.255")) {
            throw wrong("'" + text + "' stands for several machines or addresses: name one address of this machine");
        }
        return address;
    }

    private String name() {
        return "embedded" + devices.size();
    }

    /** @return false if the address was to be reserved and is taken; then no device is added */
    private boolean addUdp(InetAddress address, boolean reserved) {
        Gids gids = UdpPort.gids(address);
        // The GUID is derived from the address, so that it is the same at the next start (EUI-64, with the bit for
        // "locally administered").
        long guid = 0x0200_00ff_fe00_0000L ^ gids.high(0) ^ Long.rotateLeft(gids.low(0), 8);
        // All devices share one engine, since a connection may join any two of them.
        var hca = new Hca(name(), guid, fabric.engine(), gids, mtu(address), random, semantics, DeviceLimits.DEFAULTS);
        var port = new UdpPort(hca, address, hasNativeSockets());
        if (reserved && !port.reserve()) {
            return false;
        }
        hca.connect(port);
        fabric.connectionManager().add(hca);
        add(new EmbeddedDevice(hca));
        addresses.add(address.getHostAddress());
        return true;
    }

    private static int mtu(InetAddress address) {
        try {
            NetworkInterface network = PortSockets.networkInterface(address);
            int most = network == null ? 1500 : network.getMTU() - HEADERS;
            return Math.clamp(Integer.highestOneBit(Math.max(1, most)), 256, 4096);
        } catch (IOException e) {
            return 1024;
        }
    }

    private void addUdpAtFreeLoopback() {
        for (int last = 1; last < 255; last++) {
            InetAddress address = InetAddress.ofLiteral("127.0.0." + last);
            if (devices.stream().noneMatch(each -> isAt(each, address)) && addUdp(address, true)) {
                return;
            }
        }
        throw wrong("UDP port " + Icrc.UDP_PORT + " could not be opened on any address of 127.0.0.0/24: end a"
                + " process that uses it, or name an address with udp:ADDRESS");
    }

    private static boolean isAt(VerbsDevice device, InetAddress address) {
        Gids gids = UdpPort.gids(address);
        return device instanceof EmbeddedDevice embedded
                && embedded.hca().gids().indexOf(gids.high(0), gids.low(0)) >= 0;
    }
}
