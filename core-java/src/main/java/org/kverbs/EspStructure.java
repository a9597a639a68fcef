package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.AesGcmKey;
import org.kverbs.attributes.EspAttributes;
import org.kverbs.internal.abi.IbUverbsFlowActionEsp;
import org.kverbs.internal.abi.IbUverbsFlowActionEspFlags;
import org.kverbs.internal.abi.IbUverbsFlowActionEspKeymat;
import org.kverbs.internal.abi.IbUverbsFlowActionEspKeymatAesGcm;
import org.kverbs.internal.abi.IbUverbsFlowActionEspKeymatAesGcmIvAlgo;
import org.kverbs.internal.abi.IbUverbsFlowActionEspReplay;
import org.kverbs.internal.abi.IbUverbsFlowActionEspReplayBmp;
import org.kverbs.internal.abi.IbvFlowActionEspAttr;
import org.kverbs.internal.abi.IbvFlowActionEspMask;

/**
 * {@code struct ibv_flow_action_esp_attr} with the structures that it points to.
 *
 * @param address the structure
 * @param keys the key material
 */
record EspStructure(MemorySegment address, MemorySegment keys) {

    static EspStructure write(EspAttributes esp, Arena arena) {
        MemorySegment attributes = arena.allocate(IbvFlowActionEspAttr.SIZE, Long.BYTES);
        MemorySegment keys = keys(esp.key(), arena);
        attributes.set(JAVA_LONG, IbvFlowActionEspAttr.ESP_ATTR, association(esp, arena).address());
        attributes.set(JAVA_INT, IbvFlowActionEspAttr.KEYMAT_PROTO,
                IbUverbsFlowActionEspKeymat.IB_UVERBS_FLOW_ACTION_ESP_KEYMAT_AES_GCM);
        attributes.set(JAVA_SHORT, IbvFlowActionEspAttr.KEYMAT_LEN, (short) keys.byteSize());
        attributes.set(JAVA_LONG, IbvFlowActionEspAttr.KEYMAT_PTR, keys.address());
        if (esp.replayWindow() > 0) {
            MemorySegment replay = arena.allocate(IbUverbsFlowActionEspReplayBmp.SIZE, Long.BYTES);
            replay.set(JAVA_INT, IbUverbsFlowActionEspReplayBmp.SIZE_FIELD, esp.replayWindow());
            attributes.set(JAVA_INT, IbvFlowActionEspAttr.REPLAY_PROTO,
                    IbUverbsFlowActionEspReplay.IB_UVERBS_FLOW_ACTION_ESP_REPLAY_BMP);
            attributes.set(JAVA_SHORT, IbvFlowActionEspAttr.REPLAY_LEN, (short) replay.byteSize());
            attributes.set(JAVA_LONG, IbvFlowActionEspAttr.REPLAY_PTR, replay.address());
        }
        @Nullable Integer esn = esp.esn();
        if (esn != null) {
            attributes.set(
                    JAVA_INT, IbvFlowActionEspAttr.COMP_MASK, IbvFlowActionEspMask.IBV_FLOW_ACTION_ESP_MASK_ESN);
            attributes.set(JAVA_INT, IbvFlowActionEspAttr.ESN, esn);
        }
        return new EspStructure(attributes, keys);
    }

    private static MemorySegment association(EspAttributes esp, Arena arena) {
        MemorySegment association = arena.allocate(IbUverbsFlowActionEsp.SIZE, Long.BYTES);
        association.set(JAVA_INT, IbUverbsFlowActionEsp.SPI, esp.spi());
        association.set(JAVA_INT, IbUverbsFlowActionEsp.SEQ, esp.sequence());
        association.set(JAVA_INT, IbUverbsFlowActionEsp.TFC_PAD, esp.padding());
        association.set(JAVA_INT, IbUverbsFlowActionEsp.FLAGS, flags(esp));
        association.set(JAVA_LONG, IbUverbsFlowActionEsp.HARD_LIMIT_PKTS, esp.hardLimit());
        return association;
    }

    private static int flags(EspAttributes esp) {
        return (esp.fullOffload() ? IbUverbsFlowActionEspFlags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_FULL_OFFLOAD : 0)
                | (esp.transport() ? IbUverbsFlowActionEspFlags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_TRANSPORT : 0)
                | (esp.encrypts() ? IbUverbsFlowActionEspFlags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_ENCRYPT : 0)
                | (esp.isInNewWindow()
                        ? IbUverbsFlowActionEspFlags.IB_UVERBS_FLOW_ACTION_ESP_FLAGS_ESN_NEW_WINDOW : 0);
    }

    private static MemorySegment keys(AesGcmKey key, Arena arena) {
        MemorySegment keys = arena.allocate(IbUverbsFlowActionEspKeymatAesGcm.SIZE, Long.BYTES);
        byte[] secret = key.key();
        byte[] salt = key.salt();
        keys.set(JAVA_LONG, IbUverbsFlowActionEspKeymatAesGcm.IV, key.iv());
        keys.set(JAVA_INT, IbUverbsFlowActionEspKeymatAesGcm.IV_ALGO,
                IbUverbsFlowActionEspKeymatAesGcmIvAlgo.IB_UVERBS_FLOW_ACTION_IV_ALGO_SEQ);
        MemorySegment.copy(salt, 0, keys, JAVA_BYTE, IbUverbsFlowActionEspKeymatAesGcm.SALT, salt.length);
        keys.set(JAVA_INT, IbUverbsFlowActionEspKeymatAesGcm.ICV_LEN, key.icvLength());
        keys.set(JAVA_INT, IbUverbsFlowActionEspKeymatAesGcm.KEY_LEN, secret.length);
        MemorySegment.copy(secret, 0, keys, JAVA_BYTE, IbUverbsFlowActionEspKeymatAesGcm.AES_KEY, secret.length);
        Arrays.fill(secret, (byte) 0);
        return keys;
    }

    /** Overwrites the key material, which the driver has copied. */
    void forget() {
        keys.fill((byte) 0);
    }
}
