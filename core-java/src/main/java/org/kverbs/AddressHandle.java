package org.kverbs;

import org.kverbs.attributes.AddressAttributes;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;

/**
 * A destination of messages from a UD queue pair ({@code struct ibv_ah}). Immutable and safe for any thread.
 *
 * <p>Source: {@code man 3 ibv_create_ah}.
 */
public final class AddressHandle extends Resource {

    private final ProtectionDomain pd;
    private final AddressAttributes attributes;
    private final long handle;

    AddressHandle(ProtectionDomain pd, AddressAttributes attributes, long handle) {
        super(new Lifetime(Turn.USERS, pd.lifetime));
        this.pd = pd;
        this.attributes = attributes;
        this.handle = handle;
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Returns the protection domain that this handle belongs to. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    /** Returns the address that this handle was made from. */
    public AddressAttributes attributes() {
        return attributes;
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return pd.context().nativeAddress(handle);
    }

    private void destroy() {
        SystemErrors.check("ibv_destroy_ah(" + describe() + ")", pd.context().verbs.destroyAddressHandle(handle));
    }

    @Override
    public String describe() {
        return "address handle on " + pd.context().device().name();
    }
}
