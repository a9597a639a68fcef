package org.kverbs.attributes;

import org.jspecify.annotations.Nullable;
import org.kverbs.internal.values.Ranges;

/** Builds {@link AddressAttributes}. The port is required; every other part has a default. For one thread at a time. */
public final class AddressAttributesBuilder {
    private int destinationLid;
    private int serviceLevel;
    private int sourcePathBits;
    private StaticRate staticRate = StaticRate.MAX;
    private int port;
    private @Nullable GlobalRoute globalRoute;

    AddressAttributesBuilder() {}

    /** Sets the LID of the peer, 0 to 65535. Default: 0, right for RoCE. */
    public AddressAttributesBuilder destinationLid(int lid) {
        destinationLid = lid;
        return this;
    }

    /** Sets the service level, 0 to 15. Default: 0. */
    public AddressAttributesBuilder serviceLevel(int level) {
        serviceLevel = level;
        return this;
    }

    /** Sets the low bits of the LID to send from, 0 to 127. Default: 0. */
    public AddressAttributesBuilder sourcePathBits(int bits) {
        sourcePathBits = bits;
        return this;
    }

    /** Sets a limit on the sending rate. Default: {@link StaticRate#MAX}, which is no limit. */
    public AddressAttributesBuilder staticRate(StaticRate rate) {
        staticRate = rate;
        return this;
    }

    /** Sets the local port to send from, 1 to 255. Required. */
    public AddressAttributesBuilder port(int number) {
        port = number;
        return this;
    }

    /** Sets the route beyond the subnet. Default: none. */
    public AddressAttributesBuilder globalRoute(GlobalRoute route) {
        globalRoute = route;
        return this;
    }

    /**
     * Sets a route to {@code dgid} from the entry {@code sgidIndex} of the local GID table, with flow label 0, traffic
     * class 0 and {@link GlobalRoute#DEFAULT_HOP_LIMIT}.
     *
     * @throws IllegalArgumentException if {@code sgidIndex} is not in 0 to 255
     */
    public AddressAttributesBuilder globalRoute(Gid dgid, int sgidIndex) {
        return globalRoute(new GlobalRoute(dgid, 0, sgidIndex, GlobalRoute.DEFAULT_HOP_LIMIT, 0));
    }

    /**
     * Returns the address.
     *
     * @throws IllegalArgumentException if a number is out of its range, the port was not set or the rate is UNKNOWN;
     *     the message names it
     */
    public AddressAttributes build() {
        Ranges.require("port", port, 1, 255);
        if (staticRate == StaticRate.UNKNOWN) {
            throw new IllegalArgumentException("static rate UNKNOWN cannot be asked for: name a rate");
        }
        return new AddressAttributes(destinationLid, serviceLevel, sourcePathBits, staticRate.code(), port,
                globalRoute);
    }
}
