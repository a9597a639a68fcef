package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvMigState;

/** The state of a queue pair in automatic path migration: {@code enum ibv_mig_state} (IBA volume 1, section 17.2.8). */
public enum MigrationState {
    /** {@code IBV_MIG_MIGRATED}: the queue pair uses its path, and no alternate path is armed. */
    MIGRATED(IbvMigState.IBV_MIG_MIGRATED),
    /** {@code IBV_MIG_REARM}: the queue pair waits until both ends have armed the alternate path. */
    REARM(IbvMigState.IBV_MIG_REARM),
    /** {@code IBV_MIG_ARMED}: the queue pair moves to the alternate path if its path fails. */
    ARMED(IbvMigState.IBV_MIG_ARMED),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final MigrationState[] ALL = values();

    private final int code;

    MigrationState(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_mig_state} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static MigrationState of(int code) {
        for (MigrationState each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
