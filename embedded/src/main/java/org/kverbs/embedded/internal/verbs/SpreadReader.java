package org.kverbs.embedded.internal.verbs;

import java.lang.foreign.ValueLayout;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Handles;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.embedded.internal.transport.Spread;
import org.kverbs.embedded.internal.transport.WqTable;
import org.kverbs.embedded.internal.wire.Toeplitz;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvQpInitAttrMask;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvRxHashFunctionFlags;
import org.kverbs.internal.memory.Memory;

/** Reads the table and the hash of a {@code struct ibv_qp_init_attr_ex}. For one queue pair. */
final class SpreadReader {

    private static final int TABLE = IbvQpInitAttrMask.IBV_QP_INIT_ATTR_PD
            | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_IND_TABLE
            | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_RX_HASH;
    private static final int KEY = 40;

    private final Handles<WqTable> tables;
    private @Nullable Spread spread;

    SpreadReader(Handles<WqTable> tables) {
        this.tables = tables;
    }

    /** Tells whether a structure with this mask asks for a table or a hash. */
    static boolean isAskedFor(int mask) {
        return (mask & (IbvQpInitAttrMask.IBV_QP_INIT_ATTR_IND_TABLE | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_RX_HASH))
                != 0;
    }

    /** Returns what was read after {@link #read} returned 0. */
    Spread spread() {
        return Objects.requireNonNull(spread);
    }

    /** Reads the structure. Returns 0 or -errno. */
    int read(long at) {
        WqTable table = tables.get(Memory.getLong(at + IbvQpInitAttrEx.RWQ_IND_TBL));
        long fields = Memory.getLong(at + IbvQpInitAttrEx.RX_HASH_CONF_RX_HASH_FIELDS_MASK);
        int length = Byte.toUnsignedInt(Memory.getByte(at + IbvQpInitAttrEx.RX_HASH_CONF_RX_HASH_KEY_LEN));
        int function = Memory.getByte(at + IbvQpInitAttrEx.RX_HASH_CONF_RX_HASH_FUNCTION);
        long key = Memory.getLong(at + IbvQpInitAttrEx.RX_HASH_CONF_RX_HASH_KEY);
        if (Memory.getInt(at + IbvQpInitAttrEx.QP_TYPE) != IbvQpType.IBV_QPT_RAW_PACKET) {
            return Refusal.because(
                    Errno.EOPNOTSUPP, "The embedded device has indirection tables for type RAW_PACKET alone.");
        }
        if (function != IbvRxHashFunctionFlags.IBV_RX_HASH_FUNC_TOEPLITZ || (fields & ~Limits.HASHED) != 0) {
            return Refusal.because(
                    Errno.EOPNOTSUPP,
                    "The embedded device hashes addresses of IPv4 and IPv6 and ports of TCP and UDP, by Toeplitz.");
        }
        if (hasQueues(at)) {
            return Refusal.because(
                    Errno.EINVAL,
                    "A queue pair with an indirection table has no queues of its own: all its sizes are 0.");
        }
        if (length != KEY) {
            return Refusal.because(Errno.EINVAL, "The key of the hash has " + length + " bytes, and must have 40.");
        }
        if (table == null || key == 0 || Memory.getInt(at + IbvQpInitAttrEx.COMP_MASK) != TABLE) {
            return -Errno.EINVAL;
        }
        spread = new Spread(
                table, new Toeplitz(Memory.at(key, KEY).toArray(ValueLayout.JAVA_BYTE)), fields);
        return 0;
    }

    private static boolean hasQueues(long at) {
        return Memory.getLong(at + IbvQpInitAttrEx.SEND_CQ) != 0
                || Memory.getLong(at + IbvQpInitAttrEx.RECV_CQ) != 0
                || Memory.getLong(at + IbvQpInitAttrEx.SRQ) != 0
                || Memory.getInt(at + IbvQpInitAttrEx.CAP_MAX_SEND_WR) != 0
                || Memory.getInt(at + IbvQpInitAttrEx.CAP_MAX_RECV_WR) != 0
                || Memory.getInt(at + IbvQpInitAttrEx.CAP_MAX_RECV_SGE) != 0;
    }
}
