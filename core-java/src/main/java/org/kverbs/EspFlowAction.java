package org.kverbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.attributes.EspAttributes;
import org.kverbs.attributes.Feature;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.spi.FlowActionVerbs;

/**
 * An action that decrypts or encrypts the packets of flow rules ({@code struct ibv_flow_action}, IPsec ESP). {@link
 * Context#espFlowAction} makes it, and {@link FlowAttributesBuilder#action} gives it to a rule; several rules can have
 * one action. Closing it closes its rules first.
 *
 * <p>Safe for any thread. Source: {@code man 3 ibv_flow_action_esp}.
 */
public final class EspFlowAction extends Resource {

    private final Context context;
    private final long handle;
    private volatile EspAttributes attributes;

    private EspFlowAction(Context context, EspAttributes attributes, long handle) {
        super(new Lifetime(Turn.FOUNDATIONS, context.lifetime));
        this.context = context;
        this.attributes = attributes;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** See {@link Context#espFlowAction}. */
    static EspFlowAction make(Context context, EspAttributes attributes) {
        String operation = "ibv_create_flow_action_esp(" + context.device().name() + ", " + attributes + ")";
        try (Arena arena = Arena.ofConfined()) {
            EspStructure structure = EspStructure.write(attributes, arena);
            try {
                return create(
                        errno -> refusal(context, operation, errno),
                        () -> verbs(context).createEsp(structure.address()),
                        h -> new EspFlowAction(context, attributes, h),
                        context);
            } finally {
                structure.forget();
            }
        }
    }

    private static FlowActionVerbs verbs(Context context) {
        return context.verbs.flowActions();
    }

    private static RdmaSystemException refusal(Context context, String operation, int errno) {
        return context.verbs.has(Feature.ESP_FLOW_ACTION.verb())
                ? SystemErrors.refused(operation, errno, () -> "") // the device has actions, but not this one
                : context.refusal(Feature.ESP_FLOW_ACTION, operation, errno);
    }

    /** Returns the open device that the action belongs to. */
    public Context context() {
        return context;
    }

    /** Returns the parameters of the last {@link #modify} that succeeded, or else those of its making. */
    public EspAttributes attributes() {
        return attributes;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return context.nativeAddress(handle);
    }

    /**
     * Changes the action for all its rules ({@code ibv_modify_flow_action_esp}). If the device refuses, the former
     * parameters count.
     *
     * @throws RdmaSystemException if the device refuses: EOPNOTSUPP if it has actions, but not with these parameters
     */
    public synchronized void modify(EspAttributes newAttributes) {
        String operation = "ibv_modify_flow_action_esp(" + context.device().name() + ", " + newAttributes + ")";
        try (Arena arena = Arena.ofConfined()) {
            EspStructure structure = EspStructure.write(newAttributes, arena);
            try {
                command(errno -> refusal(context, operation, errno),
                        () -> verbs(context).modifyEsp(handle, structure.address()));
            } finally {
                structure.forget();
            }
        }
        attributes = newAttributes;
    }

    private void destroy() {
        SystemErrors.check("ibv_destroy_flow_action(" + describe() + ")", verbs(context).destroy(handle));
    }

    @Override
    public String describe() {
        return "flow action (ESP) on " + context.device().name();
    }
}
