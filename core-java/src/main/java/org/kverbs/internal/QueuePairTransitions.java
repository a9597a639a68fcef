package org.kverbs.internal;

import static org.kverbs.attributes.QueuePairAttribute.STATE;
import static org.kverbs.attributes.QueuePairState.ERR;
import static org.kverbs.attributes.QueuePairState.RESET;

import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collector;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.QueuePairAttribute;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;

/**
 * The required and optional attributes of ibv_modify_qp(3) for each transition (IBA volume 1, section 11.2.5.2, as
 * Linux enforces it). Linux answers EINVAL to any other attribute and any other transition.
 */
public final class QueuePairTransitions {
    /**
     * {@code FROM TO types : required : optional}. The table leaves STATE out: it is required if FROM and TO differ.
     *
     * <p>The IBA also allows UC to change AV in SQD. Linux then adds PORT by itself, which UC may not change, and
     * refuses both.
     */
    private static final List<Transition> TRANSITIONS = """
            RESET INIT RC UC XRC_SEND XRC_RECV : PKEY_INDEX PORT ACCESS_FLAGS :
            RESET INIT UD    : PKEY_INDEX PORT QKEY :
            RESET INIT RAW_PACKET : PORT :
            INIT  INIT RC UC XRC_SEND XRC_RECV :  : PKEY_INDEX PORT ACCESS_FLAGS
            INIT  INIT UD    :  : PKEY_INDEX PORT QKEY
            INIT  INIT RAW_PACKET :  :
            INIT  RTR  RC XRC_RECV : AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER \
                             : PKEY_INDEX ACCESS_FLAGS ALT_PATH
            INIT  RTR  UC XRC_SEND : AV PATH_MTU DEST_QPN RQ_PSN : PKEY_INDEX ACCESS_FLAGS ALT_PATH
            INIT  RTR  UD    :  : PKEY_INDEX QKEY
            INIT  RTR  RAW_PACKET :  :
            RTR   RTS  RC    : TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC \
                             : CUR_STATE ACCESS_FLAGS MIN_RNR_TIMER ALT_PATH PATH_MIG_STATE
            RTR   RTS  XRC_SEND : TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC \
                             : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
            RTR   RTS  XRC_RECV : TIMEOUT SQ_PSN \
                             : CUR_STATE ACCESS_FLAGS MIN_RNR_TIMER ALT_PATH PATH_MIG_STATE
            RTR   RTS  UC    : SQ_PSN : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
            RTR   RTS  UD    : SQ_PSN : CUR_STATE QKEY
            RTR   RTS  RAW_PACKET :  : RATE_LIMIT
            RTS   RTS  RAW_PACKET :  : RATE_LIMIT
            RTS   SQD  RAW_PACKET :  :
            SQD   RTS  RAW_PACKET :  :
            SQD   SQD  RAW_PACKET :  :
            SQE   RTS  RAW_PACKET :  :
            RTS   RTS  RC XRC_RECV :  : CUR_STATE ACCESS_FLAGS MIN_RNR_TIMER ALT_PATH PATH_MIG_STATE
            RTS   RTS  UC XRC_SEND :  : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
            RTS   RTS  UD    :  : CUR_STATE QKEY
            RTS   SQD  RC UC UD XRC_SEND XRC_RECV :  : EN_SQD_ASYNC_NOTIFY
            SQD   RTS  RC XRC_RECV :  : CUR_STATE ACCESS_FLAGS MIN_RNR_TIMER ALT_PATH PATH_MIG_STATE
            SQD   RTS  UC XRC_SEND :  : CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
            SQD   RTS  UD    :  : CUR_STATE QKEY
            SQD   SQD  RC    :  : AV PORT TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC \
                             PKEY_INDEX ACCESS_FLAGS MIN_RNR_TIMER ALT_PATH PATH_MIG_STATE
            SQD   SQD  XRC_SEND :  : AV PORT TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC \
                             PKEY_INDEX ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
            SQD   SQD  XRC_RECV :  : AV PORT TIMEOUT MAX_DEST_RD_ATOMIC \
                             PKEY_INDEX ACCESS_FLAGS MIN_RNR_TIMER ALT_PATH PATH_MIG_STATE
            SQD   SQD  UC    :  : PKEY_INDEX ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
            SQD   SQD  UD    :  : PKEY_INDEX QKEY
            SQE   RTS  UC    :  : CUR_STATE ACCESS_FLAGS
            SQE   RTS  UD    :  : CUR_STATE QKEY
            """.lines().map(Transition::parse).toList();

    private QueuePairTransitions() {}

    /**
     * Explains why ibv_modify_qp answered EINVAL.
     *
     * @param type the type of the queue pair
     * @param from the state of the queue pair
     * @param to the state asked for; equal to {@code from} if the mask has no IBV_QP_STATE
     * @param mask the attributes that were set, of {@code enum ibv_qp_attr_mask}
     * @return sentences that name the missing and the superfluous attributes, or the possible transitions, or else the
     *     values to check
     */
    public static String explain(QueuePairType type, QueuePairState from, QueuePairState to, int mask) {
        String change = from + " -> " + to;
        if (!isKnown(type)) {
            return "kverbs has no rules for queue pairs of type " + type
                    + ": see ibv_modify_qp(3) and the provider's documentation for "
                    + change + ".";
        }
        Transition transition = find(type, from, to);
        if (transition == null) {
            Set<QueuePairState> targets = targets(type, from);
            return "There is no transition " + change + " for " + type + " queue pairs"
                    + (targets.isEmpty() ? "" : "; " + from + " leads to ")
                    + targets.stream().map(Enum::name).collect(Collectors.joining(", ")) + ".";
        }
        Set<QueuePairAttribute> given = QueuePairAttribute.of(mask);
        Set<QueuePairAttribute> missing = difference(transition.required, given);
        Set<QueuePairAttribute> extra = difference(difference(given, transition.required), transition.optional);
        if (!missing.isEmpty()) {
            String alsoExtra = extra.isEmpty() ? "" : "; not allowed: " + names(extra);
            return change + " of " + type + " queue pairs lacks required attributes: " + names(missing) + alsoExtra
                    + ".";
        }
        if (!extra.isEmpty()) {
            return change + " of " + type + " queue pairs does not take these attributes: " + names(extra)
                    + ". It takes "
                    + names(union(transition.required, transition.optional)) + ".";
        }
        int unknown = mask & ~QueuePairAttribute.mask(given);
        if (unknown != 0) {
            return "The mask has bits that are no attribute: 0x" + Integer.toHexString(unknown) + ".";
        }
        String values = suspects(given);
        return "The attributes are the right ones for " + change + " of " + type + " queue pairs, so "
                + (values.isEmpty() ? "" : "a value is refused, or ") + "it is not in state " + from + " any more."
                + (values.isEmpty() ? "" : " Check that " + values + ".");
    }

    /**
     * Returns whether Linux accepts a transition with the attributes of a mask. The values of the attributes are not
     * checked.
     */
    public static boolean isAllowed(QueuePairType type, QueuePairState from, QueuePairState to, int mask) {
        Transition transition = find(type, from, to);
        if (transition == null) {
            return false;
        }
        int required = QueuePairAttribute.mask(transition.required);
        int optional = QueuePairAttribute.mask(transition.optional);
        return (mask & required) == required && (mask & ~(required | optional)) == 0;
    }

    /**
     * Returns the required attributes of a transition, including STATE; empty if there is no such transition or it
     * requires none.
     */
    public static Set<QueuePairAttribute> required(QueuePairType type, QueuePairState from, QueuePairState to) {
        Transition transition = find(type, from, to);
        return transition == null ? Set.of() : transition.required;
    }

    /** Returns the optional attributes of a transition; empty if there is no such transition. */
    public static Set<QueuePairAttribute> optional(QueuePairType type, QueuePairState from, QueuePairState to) {
        Transition transition = find(type, from, to);
        return transition == null ? Set.of() : transition.optional;
    }

    /** Returns the states to which a queue pair of a type can move; empty for a type or a state without rules here. */
    public static Set<QueuePairState> targets(QueuePairType type, QueuePairState from) {
        return Stream.of(QueuePairState.values())
                .filter(to -> find(type, from, to) != null)
                .collect(Collectors.toCollection(() -> EnumSet.noneOf(QueuePairState.class)));
    }

    private static boolean isKnown(QueuePairType type) {
        return TRANSITIONS.stream().anyMatch(each -> each.types.contains(type));
    }

    private static @Nullable Transition find(QueuePairType type, QueuePairState from, QueuePairState to) {
        for (Transition each : TRANSITIONS) {
            if (each.from == from && each.to == to && each.types.contains(type)) {
                return each;
            }
        }
        boolean always = to == RESET || to == ERR && from != RESET;
        return always && isKnown(type) && from != QueuePairState.UNKNOWN ? Transition.of(type, from, to) : null;
    }

    /** Returns the rules for the values of these attributes; empty if STATE is the only one. */
    private static String suspects(Set<QueuePairAttribute> given) {
        return given.stream()
                .filter(each -> each != STATE)
                .map(each -> name(each) + " " + rule(each))
                .collect(Collectors.joining("; "));
    }

    private static String rule(QueuePairAttribute attribute) {
        return switch (attribute) {
            case STATE -> "is one of enum ibv_qp_state";
            case CUR_STATE -> "is the state that the queue pair is in";
            case EN_SQD_ASYNC_NOTIFY -> "is 0 or 1";
            case ACCESS_FLAGS -> "has flags that a queue pair takes (LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, "
                    + "REMOTE_ATOMIC)";
            case PKEY_INDEX -> "is below the port's pkey_tbl_len";
            case PORT -> "is 1 to the device's phys_port_cnt";
            case QKEY -> "is the same at both ends";
            case AV -> "has the port of the queue pair and, on RoCE, is_global = 1, a GID index in use, and a GID of "
                    + "the peer of the same kind (IPv4 or IPv6)";
            case ALT_PATH -> "is a path of an InfiniBand port or of an embedded device (Linux refuses alternate paths "
                    + "on RoCE), has the same port twice, and a GID index in use";
            case PATH_MTU -> "is one of enum ibv_mtu and not above the port's active_mtu";
            case TIMEOUT, MIN_RNR_TIMER -> "is 0 to 31";
            case RETRY_CNT, RNR_RETRY -> "is 0 to 7";
            case RQ_PSN, SQ_PSN, DEST_QPN -> "has no more than 24 bits";
            case MAX_QP_RD_ATOMIC -> "is not above the device's max_qp_init_rd_atom";
            case MAX_DEST_RD_ATOMIC -> "is not above the device's max_qp_rd_atom";
            case PATH_MIG_STATE -> "is one of enum ibv_mig_state, on a device with automatic path migration";
            case CAP -> "is within the device's max_qp_wr and max_sge, on a device that resizes queue pairs";
            case RATE_LIMIT -> "is within what the device can pace";
        };
    }

    private static String names(Set<QueuePairAttribute> attributes) {
        return attributes.stream().map(QueuePairTransitions::name).collect(Collectors.joining(", "));
    }

    private static String name(QueuePairAttribute attribute) {
        return attribute + " (IBV_QP_" + attribute + ")";
    }

    private static Set<QueuePairAttribute> difference(Set<QueuePairAttribute> all, Set<QueuePairAttribute> those) {
        return all.stream().filter(each -> !those.contains(each)).collect(toAttributes());
    }

    private static Set<QueuePairAttribute> union(Set<QueuePairAttribute> some, Set<QueuePairAttribute> others) {
        return Stream.concat(some.stream(), others.stream()).collect(toAttributes());
    }

    private static Collector<QueuePairAttribute, ?, EnumSet<QueuePairAttribute>> toAttributes() {
        return Collectors.toCollection(() -> EnumSet.noneOf(QueuePairAttribute.class));
    }

    /** One transition and its rule. {@code from} and {@code to} are equal if only attributes change. */
    private record Transition(
            Set<QueuePairType> types,
            QueuePairState from,
            QueuePairState to,
            Set<QueuePairAttribute> required,
            Set<QueuePairAttribute> optional) {

        /**
         * Returns the transition without other attributes. STATE is required if the state changes, and otherwise
         * optional.
         */
        static Transition of(QueuePairType type, QueuePairState from, QueuePairState to) {
            return parse(from + " " + to + " " + type + " :  : ");
        }

        /** Reads a line of the table. */
        static Transition parse(String line) {
            String[] parts = line.split(":", -1);
            List<String> key = words(parts[0]);
            Set<QueuePairAttribute> required = attributes(parts[1]);
            Set<QueuePairAttribute> optional = attributes(parts[2]);
            QueuePairState from = QueuePairState.valueOf(key.get(0));
            QueuePairState to = QueuePairState.valueOf(key.get(1));
            (from == to ? optional : required).add(STATE);
            Set<QueuePairType> types = key.stream().skip(2).map(QueuePairType::valueOf).collect(Collectors.toSet());
            return new Transition(types, from, to, Collections.unmodifiableSet(required),
                    Collections.unmodifiableSet(optional));
        }

        private static Set<QueuePairAttribute> attributes(String text) {
            return words(text).stream().map(QueuePairAttribute::valueOf).collect(toAttributes());
        }

        private static List<String> words(String text) {
            return Stream.of(text.split(" +")).filter(word -> !word.isEmpty()).toList();
        }
    }
}
