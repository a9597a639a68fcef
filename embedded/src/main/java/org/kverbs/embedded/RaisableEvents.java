package org.kverbs.embedded;

import java.util.EnumSet;
import java.util.Set;
import org.kverbs.attributes.AsyncEventType;

/** Checks the asynchronous events that a test raises against the kind of their source. */
final class RaisableEvents {

    private static final Set<AsyncEventType> DEVICE_EVENTS = EnumSet.of(
            AsyncEventType.DEVICE_FATAL,
            AsyncEventType.PORT_ACTIVE,
            AsyncEventType.PORT_ERR,
            AsyncEventType.LID_CHANGE,
            AsyncEventType.PKEY_CHANGE,
            AsyncEventType.SM_CHANGE,
            AsyncEventType.CLIENT_REREGISTER,
            AsyncEventType.GID_CHANGE);
    private static final Set<AsyncEventType> QUEUE_PAIR_EVENTS = EnumSet.of(
            AsyncEventType.QP_FATAL,
            AsyncEventType.QP_REQ_ERR,
            AsyncEventType.QP_ACCESS_ERR,
            AsyncEventType.COMM_EST,
            AsyncEventType.SQ_DRAINED,
            AsyncEventType.PATH_MIG,
            AsyncEventType.PATH_MIG_ERR,
            AsyncEventType.QP_LAST_WQE_REACHED);

    private RaisableEvents() {}

    static void requireOfDevice(AsyncEventType type) {
        require(type, DEVICE_EVENTS, "a device");
    }

    static void requireOfQueuePair(AsyncEventType type) {
        require(type, QUEUE_PAIR_EVENTS, "a queue pair");
    }

    private static void require(AsyncEventType type, Set<AsyncEventType> possible, String source) {
        if (!possible.contains(type)) {
            throw new IllegalArgumentException(type + " is not an event of " + source + ": use one of " + possible);
        }
    }
}
