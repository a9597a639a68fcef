package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.attributes.AddressAttributes;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.abi.IbvGrh;
import org.kverbs.internal.values.Ranges;

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

    /** See {@link ProtectionDomain#addressHandle(AddressAttributes)}. */
    static AddressHandle make(ProtectionDomain pd, AddressAttributes attributes) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment destination = arena.allocate(IbvAhAttr.SIZE, JAVA_LONG.byteAlignment());
            Structures.ADDRESS.write(attributes, destination);
            return Resource.create(
                    "ibv_create_ah(" + pd.context().device().name() + ", " + attributes + ")",
                    () -> pd.context().limits.excess((excess, limits) -> excess
                            .of("port_num", attributes.port(), "phys_port_cnt", limits.physPortCnt())),
                    () -> pd.context().verbs.createAddressHandle(pd.handle(), destination),
                    h -> new AddressHandle(pd, attributes, h),
                    pd);
        }
    }

    /** See {@link ProtectionDomain#addressOf}. */
    static AddressAttributes addressOf(ProtectionDomain pd, int port, WorkCompletion completion, MemorySegment grh) {
        Ranges.requirePart("the memory given for the global routing header", 0, IbvGrh.SIZE, grh.byteSize());
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment header = arena.allocate(IbvGrh.SIZE, JAVA_LONG.byteAlignment());
            header.copyFrom(grh.asSlice(0, IbvGrh.SIZE));
            MemorySegment attributes = arena.allocate(IbvAhAttr.SIZE, JAVA_LONG.byteAlignment());
            pd.command(
                    "ibv_init_ah_from_wc(" + pd.context().device().name() + ", port=" + port + ")",
                    () -> pd.context().verbs.addressFromCompletion(port, completion.structure(), header, attributes));
            return Structures.ADDRESS.read(attributes);
        }
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
