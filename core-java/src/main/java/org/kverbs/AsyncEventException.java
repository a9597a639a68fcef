package org.kverbs;

import java.io.Serial;
import org.kverbs.attributes.AsyncEventType;

/**
 * Reports an asynchronous event after which a queue pair, a completion queue, a port or the whole device is unusable.
 * See ibv_get_async_event(3) and IBA volume 1, section 11.6.3.
 *
 * <p>The message of an event that is no error ({@link AsyncEventType#isError()} is false) has no advice.
 */
public class AsyncEventException extends RdmaException {
    @Serial private static final long serialVersionUID = 1L;

    private final AsyncEventType type;
    private final String element;

    /**
     * Describes an event.
     *
     * @param type the type of the event
     * @param element the object that the event is about, as a phrase: {@code queue pair 17}, {@code port 1 of rxe0}
     */
    public AsyncEventException(AsyncEventType type, String element) {
        super("asynchronous event " + type + " on " + element + advice(type));
        this.type = type;
        this.element = element;
    }

    /** Returns the type of the event. */
    public AsyncEventType type() {
        return type;
    }

    /** Returns the object that the event is about, as a phrase: {@code queue pair 17}. */
    public String element() {
        return element;
    }

    private static String advice(AsyncEventType type) {
        return switch (type) {
            case CQ_ERR -> ". It overran or broke, and has lost completions: make it and its queue pairs anew, with as"
                    + " many entries as requests can be outstanding on all of them.";
            case QP_FATAL -> ". The device could not tell by a completion, and the queue pair is in the error state:"
                    + " reset it, or make it anew.";
            case QP_REQ_ERR -> ". The peer sent a request that is invalid here, and the queue pair is in the error "
                    + "state: check that the peer's operation is allowed here and its atomic addresses are multiples "
                    + "of 8.";
            case QP_ACCESS_ERR -> ". The peer asked for memory that it must not touch, and the queue pair is in the"
                    + " error state: check the rkey, address and length that the peer uses, and the access flags of"
                    + " region and queue pair.";
            case PATH_MIG_ERR -> ". The alternate path does not work: check it, and load another.";
            case DEVICE_FATAL -> ". It broke, was reset or unplugged: close everything made from it and open it again;"
                    + " the kernel's log (`dmesg`) says more.";
            case PORT_ERR -> ". It is down: check cable, peer and `ip link`. What is under way is sent again until its"
                    + " retries are spent.";
            case SRQ_ERR -> ". It takes and gives no more receives: make it and its queue pairs anew.";
            case WQ_FATAL -> ". It is in the error state: reset it, or make it anew.";
            default -> ".";
        };
    }
}
