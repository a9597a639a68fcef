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
import org.kverbs.embedded.internal.udp.UdpPort;
import org.kverbs.embedded.internal.watch.Watch;
import org.kverbs.embedded.internal.wire.Icrc;
import org.kverbs.spi.VerbsDevice;

/** Which embedded devices a process has, by the words that {@link EmbeddedProvider} explains. */
final class Configuration {

    private static final String PROPERTY = "kverbs.embedded";
    private static final String VARIABLE = "KVERBS_EMBEDDED";
    private static final String DIAGNOSTICS_PROPERTY = "kverbs.embedded.diagnostics";
    private static final String DIAGNOSTICS_VARIABLE = "KVERBS_EMBEDDED_DIAGNOSTICS";
    private static final String SEMANTICS_PROPERTY = "kverbs.embedded.semantics";
    private static final String SEMANTICS_VARIABLE = "KVERBS_EMBEDDED_SEMANTICS";
    private static final String HALF_OPEN_PROPERTY = "kverbs.embedded.halfOpen";
    private static final String HALF_OPEN_VARIABLE = "KVERBS_EMBEDDED_HALF_OPEN";
    private static final String NONE = "none";
    private static final String DEFAULT = "memory,memory";
    /**
     * Headers and their like beside the payload; what Soft-RoCE reckons with, so that both have the same MTU on the
     * same link.
     */
    private static final int HEADERS = 80;

    private final String words;
    private final List<VerbsDevice> devices = new ArrayList<>();
    private final List<String> addresses = new ArrayList<>();
    private final SecureRandom random = new SecureRandom();
    private final EmbeddedFabric fabric = EmbeddedFabric.unpredictable(random);

    /** What the devices themselves and their diagnostics found. */
    private final MisuseLog misuses = new MisuseLog(MisuseLog::warn);
    private final @Nullable Watch watch;
    private final Semantics semantics;

    private Configuration(String words, boolean diagnoses, Semantics semantics) {
        this.words = words;
        this.semantics = semantics;
        this.watch = diagnoses ? new Watch(misuses::add) : null;
    }

    /** What the property or the environment asks for, or else the usual devices. */
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
                    + set + "': it says how many connections of a listener may be half open, from 1 to 999999");
        }
        connectionManager().limitHalfOpen(Integer.parseInt(set.strip()));
    }

    /** Devices without diagnostics. */
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
            throw new RdmaException(where + ", asks for '" + set + "', and must be strict or rxe", e);
        }
    }

    private static Configuration of(String words, boolean diagnoses, Semantics semantics) {
        var configuration = new Configuration(words, diagnoses, semantics);
        if (!words.strip().equals(NONE)) {
            for (String word : words.split(",")) {
                configuration.add(word.strip());
            }
        }
        configuration.fabric.connectionManager().reach(configuration.reach());
        return configuration;
    }

    /** What a program is told that asks for a service where none is. */
    private String reach() {
        if (devices.isEmpty() || words.contains("udp:")) {
            return ""; // who has chosen an address knows of the others
        }
        if (words.contains("udp")) {
            return "Each process with KVERBS_EMBEDDED=udp has an address of its own, the first that is free from"
                    + " 127.0.0.1 on; this one has " + String.join(", ", addresses) + ". So a second service of this"
                    + " machine is at another address than the first: connect to that, or choose it by"
                    + " KVERBS_EMBEDDED=udp:ADDRESS where the service is started.";
        }
        String names = devices.stream().map(VerbsDevice::name).collect(Collectors.joining(", "));
        return "The embedded devices of this process (" + names + ") reach one another alone. For a service in another"
                + " process start both with KVERBS_EMBEDDED=udp (or -Dkverbs.embedded=udp), and on another host each"
                + " with KVERBS_EMBEDDED=udp:ADDRESS of its own.";
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
            throw wrong("'" + word + "' is not memory, udp or udp:ADDRESS; or else all of it is none");
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
            throw wrong("'" + text + "' is no IPv4 or IPv6 address");
        }
        if (address.isMulticastAddress() || address.isAnyLocalAddress() || text.equals("255.255.255.255")) {
            throw wrong("'" + text + "' stands for several machines or addresses; name one address of this machine");
        }
        return address;
    }

    private String name() {
        return "embedded" + devices.size();
    }

    /** @return false, and no device, if the address should be reserved and is not to be had */
    private boolean addUdp(InetAddress address, boolean reserved) {
        Gids gids = UdpPort.gids(address);
        // A GUID from the address, so that it is the same at the next start (EUI-64, with the bit for "locally
        // administered").
        long guid = 0x0200_00ff_fe00_0000L ^ gids.high(0) ^ Long.rotateLeft(gids.low(0), 8);
        // On the same engine as all the others, as connections may be between any of them.
        var hca = new Hca(name(), guid, fabric.engine(), gids, mtu(address), random, semantics, DeviceLimits.DEFAULTS);
        var port = new UdpPort(hca, address);
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
            NetworkInterface network = UdpPort.networkInterface(address);
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
        throw wrong("UDP port " + Icrc.UDP_PORT + " is taken on every address of 127.0.0.0/24, or may not be used");
    }

    private static boolean isAt(VerbsDevice device, InetAddress address) {
        Gids gids = UdpPort.gids(address);
        return device instanceof EmbeddedDevice embedded
                && embedded.hca().gids().indexOf(gids.high(0), gids.low(0)) >= 0;
    }
}
