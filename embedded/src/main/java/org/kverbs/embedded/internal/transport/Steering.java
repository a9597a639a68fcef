package org.kverbs.embedded.internal.transport;

import java.util.ArrayList;
import java.util.List;
import org.kverbs.embedded.internal.wire.FrameHeaders;
import org.kverbs.internal.abi.IbvFlowAttrType;

/**
 * Keeps the flow rules of a device, and gives arriving frames to the queue pairs of the rules that take them. Guarded
 * by the engine's lock.
 *
 * <p>The rules of the lowest priority number that has a match end the search, each with a copy of the frame for its
 * queue pair. Sniffers get a copy of every frame. The default rules get what no other rule took.
 */
public final class Steering {

    /** Sorted by priority; rules of one priority stand in the order in which they were made. */
    private final List<FlowRule> rules = new ArrayList<>();

    private final FrameHeaders headers = new FrameHeaders();
    /** Those of a frame that an action decrypted. */
    private final FrameHeaders openedHeaders = new FrameHeaders();
    /** The number of the last frame, so that no queue pair receives a frame twice. */
    private long frames;

    /** Adds a rule. */
    public void add(FlowRule rule) {
        int at = rules.size();
        while (at > 0 && rules.get(at - 1).priority() > rule.priority()) {
            at--;
        }
        rules.add(at, rule);
        if (rule.counts() != null) {
            rule.counts().users++;
        }
        if (rule.action() != null) {
            rule.action().users++;
        }
    }

    /** Removes a rule. */
    public void remove(FlowRule rule) {
        if (!rules.removeIf(each -> each == rule)) {
            return;
        }
        if (rule.counts() != null) {
            rule.counts().users--;
        }
        if (rule.action() != null) {
            rule.action().users--;
        }
    }

    /** Tells whether a rule leads to a queue pair. */
    public boolean leadsTo(Qp qp) {
        return rules.stream().anyMatch(rule -> rule.qp() == qp);
    }

    /**
     * Takes a frame that arrives at the port.
     *
     * @param sender the number of the queue pair of this device that sent it and does not receive it; 0 if another
     *     device sent it
     */
    void take(long frame, int length, int sender) {
        if (rules.isEmpty()) {
            return;
        }
        headers.read(frame, length);
        frames++;
        boolean taken = false;
        int priority = 0;
        for (int i = 0; i < rules.size(); i++) {
            FlowRule rule = rules.get(i);
            boolean isNormal = rule.type() == IbvFlowAttrType.IBV_FLOW_ATTR_NORMAL;
            boolean asked = isNormal && (!taken || rule.priority() == priority)
                    || rule.type() == IbvFlowAttrType.IBV_FLOW_ATTR_SNIFFER;
            if (asked && rule.qp().number != sender && rule.takes(headers)) {
                give(rule, frame, length);
                if (isNormal && !rule.passesOn()) {
                    taken = true;
                    priority = rule.priority();
                }
            }
        }
        for (int i = 0; i < rules.size() && !taken; i++) {
            FlowRule rule = rules.get(i);
            boolean isDefault = rule.type() == IbvFlowAttrType.IBV_FLOW_ATTR_ALL_DEFAULT
                    || rule.type() == IbvFlowAttrType.IBV_FLOW_ATTR_MC_DEFAULT && headers.isMulticast();
            if (isDefault && rule.qp().number != sender) {
                give(rule, frame, length);
            }
        }
    }

    private void give(FlowRule rule, long frame, int length) {
        if (rule.counts() != null) {
            rule.counts().count(length);
        }
        if (rule.drops()) {
            return;
        }
        EspAction action = rule.action();
        if (action == null) {
            rule.qp().arrivals.takeFrame(frame, length, frames, headers);
        } else {
            giveOpened(rule.qp(), action, action.open(frame, length, frames));
        }
    }

    /** Gives a decrypted frame to a queue pair. The frame as it came may still be for other rules. */
    private void giveOpened(Qp qp, EspAction action, int length) {
        if (length >= 0) {
            openedHeaders.read(action.opened(), length);
            qp.arrivals.takeFrame(action.opened(), length, frames, openedHeaders);
        }
    }
}
