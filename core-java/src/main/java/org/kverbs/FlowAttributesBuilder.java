package org.kverbs;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.FlowMatch;
import org.kverbs.attributes.FlowType;

/** Builds {@link FlowAttributes}. For one thread. */
public final class FlowAttributesBuilder {

    private final List<FlowMatch> matches = new ArrayList<>();
    private FlowType type = FlowType.NORMAL;
    private int priority;
    private int port = 1;
    private boolean dontTrap;
    private boolean drops;
    private @Nullable FlowCounters counters;
    private @Nullable EspFlowAction action;

    FlowAttributesBuilder() {}

    /** Sets which frames the rule is for. Default: {@link FlowType#NORMAL}. */
    public FlowAttributesBuilder type(FlowType newType) {
        type = newType;
        return this;
    }

    /** Sets the priority, 0 to 65535; the device asks rules of a lower number first. Default: 0. */
    public FlowAttributesBuilder priority(int number) {
        priority = number;
        return this;
    }

    /** Sets the port of the device. Default: 1. */
    public FlowAttributesBuilder port(int number) {
        port = number;
        return this;
    }

    /**
     * Lets frames that match also go on to rules of other priorities ({@code IBV_FLOW_ATTR_FLAGS_DONT_TRAP}). Default:
     * the rule ends the search.
     */
    public FlowAttributesBuilder dontTrap() {
        dontTrap = true;
        return this;
    }

    /**
     * Adds what the rule asks of a header, in any order, one match for each layer. A later change of {@code match} has
     * no effect.
     */
    public FlowAttributesBuilder match(FlowMatch match) {
        matches.add(match.copy());
        return this;
    }

    /** Makes the device drop the frames that match. Default: the queue pair receives them. */
    public FlowAttributesBuilder drop() {
        drops = true;
        return this;
    }

    /** Counts the frames that match. The counters have their points attached before: {@link FlowCounters#attach}. */
    public FlowAttributesBuilder count(FlowCounters newCounters) {
        counters = newCounters;
        return this;
    }

    /** Makes the device decrypt the packets that match, or encrypt them, before the queue pair receives them. */
    public FlowAttributesBuilder action(EspFlowAction newAction) {
        action = newAction;
        return this;
    }

    /**
     * Makes the parameters.
     *
     * @throws IllegalArgumentException if a number is out of range, or if a rule of another type than {@link
     *     FlowType#NORMAL} has matches
     */
    public FlowAttributes build() {
        return new FlowAttributes(type, priority, port, dontTrap, matches, drops, counters, action);
    }
}
