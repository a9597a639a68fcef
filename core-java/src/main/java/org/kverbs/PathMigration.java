package org.kverbs;

import org.kverbs.attributes.ConnectOptions;
import org.kverbs.attributes.DeviceAttributes;
import org.kverbs.attributes.DeviceCapability;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.MigrationState;
import org.kverbs.attributes.PortCapability;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairEndpoint;
import org.kverbs.internal.abi.Errno;

/** Loads and takes the alternate path of a queue pair. */
final class PathMigration {

    private PathMigration() {}

    /**
     * Returns whether a device and one of its ports have path migration. Soft-RoCE says it of the device, but not of
     * its port, and Linux refuses alternate paths on RoCE.
     */
    static boolean isIn(Context context) {
        DeviceAttributes device = context.queryDevice();
        if (!device.capabilities().contains(DeviceCapability.AUTO_PATH_MIG)) {
            return false;
        }
        for (int port = 1; port <= device.physPortCnt(); port++) {
            if (context.queryPort(port).capabilities().contains(PortCapability.AUTO_MIGR_SUP)) {
                return true;
            }
        }
        return false;
    }

    /** See {@link QueuePair#armAlternatePath}. */
    static void arm(QueuePairControl control, QueuePairEndpoint remote, ConnectOptions options) {
        Context context = control.context();
        if (!context.supports(Feature.PATH_MIGRATION)) {
            String operation = "ibv_modify_qp(" + control.type() + " queue pair " + control.number()
                    + ", ALT_PATH, PATH_MIG_STATE)";
            throw context.refusal(Feature.PATH_MIGRATION, operation, Errno.EOPNOTSUPP);
        }
        control.modify(QueuePairAttributes.builder()
                .alternatePath(
                        new QueuePairConnector(control, options).addressOf(remote),
                        options.pkeyIndex(),
                        options.port(),
                        options.timeout())
                .migrationState(MigrationState.REARM)
                .build());
    }

    /** See {@link QueuePair#migrate}. */
    static void migrate(QueuePairControl control) {
        control.modify(QueuePairAttributes.builder()
                .migrationState(MigrationState.MIGRATED)
                .build());
    }
}
