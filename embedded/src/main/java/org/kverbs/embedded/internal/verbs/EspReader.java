package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.ValueLayout;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.transport.EspAction.Association;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbUverbsFlowActionEsp;
import org.kverbs.internal.abi.IbUverbsFlowActionEspFlags;
import org.kverbs.internal.abi.IbUverbsFlowActionEspKeymat;
import org.kverbs.internal.abi.IbUverbsFlowActionEspKeymatAesGcm;
import org.kverbs.internal.abi.IbUverbsFlowActionEspReplay;
import org.kverbs.internal.abi.IbUverbsFlowActionEspReplayBmp;
import org.kverbs.internal.abi.IbvFlowActionEspAttr;
import org.kverbs.internal.abi.IbvFlowActionEspMask;
import org.kverbs.internal.memory.Memory;

/** Reads a {@code struct ibv_flow_action_esp_attr} and what it points to. For one action. */
final class EspReader {

    /** What this device does: full offload, in transport mode, of packets that arrive. */
    private static final int FLAGS = IbUverbsFlowActionEspFlags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD
            | IbUverbsFlowActionEspFlags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_TRANSPORT;

    private static final int SALT = 4;
    /** The shortest integrity check value that Java's AES-GCM has. */
    private static final int SHORTEST_ICV = 12;

    private @Nullable Association association;

    /** Returns what was read after {@link #read} returned 0. */
    Association association() {
        return Objects.requireNonNull(association);
    }

    /** Reads the structure, which needs all its parts also for a change. Returns 0 or -errno. */
    int read(long at) {
        long esp = Memory.getLong(at + IbvFlowActionEspAttr.ESP_ATTR);
        long keys = Memory.getLong(at + IbvFlowActionEspAttr.KEYMAT_PTR);
        int protocol = Memory.getInt(at + IbvFlowActionEspAttr.KEYMAT_PROTO);
        int length = Short.toUnsignedInt(Memory.getShort(at + IbvFlowActionEspAttr.KEYMAT_LEN));
        int mask = Memory.getInt(at + IbvFlowActionEspAttr.COMP_MASK);
        if (esp == 0 || keys == 0
                || protocol != IbUverbsFlowActionEspKeymat.IB_UVERBS_FLOW_ACTION_ESP_KEYMAT_AES_GCM
                || length != IbUverbsFlowActionEspKeymatAesGcm.SIZE
                || (mask & ~IbvFlowActionEspMask.IBV_FLOW_ACTION_ESP_MASK_ESN) != 0) {
            return -Errno.EINVAL;
        }
        if (Memory.getInt(esp + IbUverbsFlowActionEsp.FLAGS) != FLAGS
                || Memory.getInt(esp + IbUverbsFlowActionEsp.TFC_PAD) != 0
                || Memory.getLong(at + IbvFlowActionEspAttr.ESP_ENCAP) != 0) {
            return Refusal.because(
                    Errno.EOPNOTSUPP,
                    "The embedded device decrypts by full offload in transport mode alone: take"
                            + " decrypting(key).inTransportMode().fullOffload(spi, sequence), without padding.");
        }
        boolean isExtended = mask != 0;
        long upper = isExtended ? Integer.toUnsignedLong(Memory.getInt(at + IbvFlowActionEspAttr.ESN)) : 0;
        if (upper > Integer.MAX_VALUE) {
            return -Errno.EINVAL;
        }
        int window = window(at);
        return window < 0 ? window : readKeys(esp, keys, upper << Integer.SIZE, isExtended, window);
    }

    /** Returns the length of the replay window, 0 for none, or -errno. */
    private static int window(long at) {
        int protocol = Memory.getInt(at + IbvFlowActionEspAttr.REPLAY_PROTO);
        if (protocol == IbUverbsFlowActionEspReplay.IB_UVERBS_FLOW_ACTION_ESP_REPLAY_NONE) {
            return 0;
        }
        long replay = Memory.getLong(at + IbvFlowActionEspAttr.REPLAY_PTR);
        int length = Short.toUnsignedInt(Memory.getShort(at + IbvFlowActionEspAttr.REPLAY_LEN));
        if (protocol != IbUverbsFlowActionEspReplay.IB_UVERBS_FLOW_ACTION_ESP_REPLAY_BMP
                || replay == 0
                || length != IbUverbsFlowActionEspReplayBmp.SIZE) {
            return -Errno.EINVAL;
        }
        int size = Memory.getInt(replay + IbUverbsFlowActionEspReplayBmp.SIZE_FIELD);
        return size > 0 && size <= Limits.REPLAY_WINDOW
                ? size
                : Refusal.because(Errno.EINVAL, "A replay window has 1 to " + Limits.REPLAY_WINDOW + " numbers.");
    }

    private int readKeys(long esp, long keys, long upper, boolean isExtended, int window) {
        int keyLength = Memory.getInt(keys + IbUverbsFlowActionEspKeymatAesGcm.KEY_LEN);
        int icv = Memory.getInt(keys + IbUverbsFlowActionEspKeymatAesGcm.ICV_LEN);
        if (keyLength != 16 && keyLength != 24 && keyLength != 32 || icv != 8 && icv != 12 && icv != 16) {
            return -Errno.EINVAL;
        }
        if (icv < SHORTEST_ICV) {
            return Refusal.because(
                    Errno.EOPNOTSUPP, "The embedded device has integrity check values of 12 and 16 bytes.");
        }
        association = new Association(
                Memory.getInt(esp + IbUverbsFlowActionEsp.SPI),
                upper | Integer.toUnsignedLong(Memory.getInt(esp + IbUverbsFlowActionEsp.SEQ)),
                isExtended,
                window,
                Memory.getLong(esp + IbUverbsFlowActionEsp.HARD_LIMIT_PKTS),
                bytes(keys + IbUverbsFlowActionEspKeymatAesGcm.AES_KEY, keyLength),
                bytes(keys + IbUverbsFlowActionEspKeymatAesGcm.SALT, SALT),
                icv);
        return 0;
    }

    private static byte[] bytes(long at, int length) {
        return Memory.at(at, length).toArray(ValueLayout.JAVA_BYTE);
    }
}
