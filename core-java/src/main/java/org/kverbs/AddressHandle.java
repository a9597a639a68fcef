package org.kverbs;

import java.util.List;
import org.kverbs.internal.SystemErrors;

/**
 * Where messages of a UD queue pair go ({@code struct ibv_ah}). Immutable, safe for any thread.
 *
 * <p>Source: {@code man 3 ibv_create_ah}.
 */
public final class AddressHandle extends Resource {

    private final ProtectionDomain pd;
    private final AddressAttributes attributes;
    private final long handle;

    AddressHandle(ProtectionDomain pd, AddressAttributes attributes, long handle) {
        super(List.of(pd));
        this.pd = pd;
        this.attributes = attributes;
        this.handle = handle;
    }

    /** The domain it belongs to. */
    public ProtectionDomain protectionDomain() {
        return pd;
    }

    /** What it was made from. */
    public AddressAttributes attributes() {
        return attributes;
    }

    long handle() {
        return handle;
    }

    @Override
    void destroy() {
        SystemErrors.check("ibv_destroy_ah(" + describe() + ")", pd.context().verbs.destroyAddressHandle(handle));
    }

    @Override
    public String describe() {
        return "address handle on " + pd.context().device().name();
    }
}
