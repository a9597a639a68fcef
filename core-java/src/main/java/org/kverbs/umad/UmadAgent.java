package org.kverbs.umad;

import java.util.Set;
import java.util.TreeSet;
import org.kverbs.internal.values.Ranges;

/**
 * What an agent of a {@link UmadPort} is for (umad_register(3), umad_register_oui(3)). The kernel gives each agent the
 * answers to its own requests, and the requests of the methods that it names.
 *
 * @param mgmtClass the management class, 1 to 255: {@code 0x81} for directed routes, {@code 0x03} for subnet
 *     administration
 * @param version the version of the class: 2 for subnet administration, 1 for most others
 * @param joinsSegments true if the kernel is to cut and join long messages (RMPP); false if the program does, or if
 *     the class has none
 * @param oui the 24 bits of the vendor, for classes 0x30 to 0x4f; 0 for others
 * @param methods the methods, 1 to 127, whose requests the agent receives; empty for an agent that only asks. Only one
 *     agent of a port receives a method of a class
 */
public record UmadAgent(int mgmtClass, int version, boolean joinsSegments, int oui, Set<Integer> methods) {

    private static final int FIRST_WITH_OUI = 0x30;
    private static final int LAST_WITH_OUI = 0x4f;

    /**
     * Checks that each number is in its range, and copies the methods.
     *
     * @throws IllegalArgumentException if one is out of its range; the message names it
     */
    public UmadAgent {
        Ranges.require("management class", mgmtClass, 1, 255);
        Ranges.require("version of the class", version, 1, 255);
        Ranges.require("OUI", oui, 0, 0xff_ffff);
        methods.forEach(method -> Ranges.require("method", method, 1, 127));
        methods = Set.copyOf(new TreeSet<>(methods));
        if (oui != 0 && !hasOui(mgmtClass)) {
            throw new IllegalArgumentException("management class 0x%02x has no OUI: give 0".formatted(mgmtClass));
        }
    }

    /** Returns an agent that only asks, for a class without long messages. */
    public static UmadAgent asking(int mgmtClass, int version) {
        return new UmadAgent(mgmtClass, version, false, 0, Set.of());
    }

    /** Returns the same agent with the kernel cutting and joining long messages. */
    public UmadAgent withSegments() {
        return new UmadAgent(mgmtClass, version, true, oui, methods);
    }

    /** Returns the same agent for the datagrams of a vendor. */
    public UmadAgent withOui(int vendor) {
        return new UmadAgent(mgmtClass, version, joinsSegments, vendor, methods);
    }

    /**
     * Returns the same agent, which also receives requests of these methods. One that answers by long messages names
     * the method of its answers without the highest bit, too: the peer's acknowledgements of GetResp come as Get.
     */
    public UmadAgent answering(Set<Integer> requests) {
        return new UmadAgent(mgmtClass, version, joinsSegments, oui, requests);
    }

    boolean hasOui() {
        return hasOui(mgmtClass);
    }

    private static boolean hasOui(int mgmtClass) {
        return mgmtClass >= FIRST_WITH_OUI && mgmtClass <= LAST_WITH_OUI;
    }
}
