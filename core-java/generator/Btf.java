import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The types in a .BTF section (Linux kernel, Documentation/bpf/btf.rst): the data by which the generator lays out a
 * struct. The C compiler gives the values of enumerators, since the BTF of GCC 12 keeps only their low 32 bits.
 */
final class Btf {
    /** The kinds in the order of their numbers. An enum of 64-bit values is read as ENUM. */
    enum Kind {
        VOID, INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, VAR,
        DATASEC, FLOAT, DECL_TAG, TYPE_TAG, ENUM64
    }

    /** A field with its byte offset in the enclosing aggregate; the name is empty for an anonymous one. */
    record Member(String name, int type, int offset) {}

    /** {@code sizeOrType} is a size in bytes, the id of the type referred to, or an array's element count, by kind. */
    record Type(Kind kind, String name, int sizeOrType, int element, List<Member> members, List<String> enumerators) {
        boolean aggregate() {
            return kind == Kind.STRUCT || kind == Kind.UNION;
        }
    }

    private static final int MAGIC = 0xeb9f;

    private final List<Type> types = new ArrayList<>();
    private final ByteBuffer bytes;
    private final int strings;
    private int at;

    Btf(ByteBuffer bytes) {
        this.bytes = bytes;
        if (Short.toUnsignedInt(bytes.getShort(0)) != MAGIC) {
            throw new GeneratorException("The .BTF section does not begin with the BTF magic number.");
        }
        int header = bytes.getInt(4);
        at = header + bytes.getInt(8);
        int end = at + bytes.getInt(12);
        strings = header + bytes.getInt(16);
        types.add(new Type(Kind.VOID, "void", 0, 0, List.of(), List.of()));
        while (at < end) {
            types.add(readType());
        }
    }

    Type type(int id) {
        return types.get(id);
    }

    /** Returns the definition of a type, such as {@code struct ibv_wc}. */
    Type find(Kind kind, String name) {
        return types.stream().filter(type -> type.kind == kind && type.name.equals(name)).findFirst().orElseThrow(() ->
            new GeneratorException("The headers define no " + kind.name().toLowerCase(Locale.ROOT) + " " + name + "."));
    }

    private Type readType() {
        String name = string(next());
        int info = next();
        int count = info & 0xffff;
        int sizeOrType = next();
        Kind kind = Kind.values()[info >>> 24 & 0x1f];
        int element = 0;
        List<Member> members = new ArrayList<>();
        List<String> enumerators = new ArrayList<>();
        switch (kind) {
            case INT, VAR, DECL_TAG -> next();
            case ARRAY -> {
                element = next();
                next();
                sizeOrType = next();
            }
            case STRUCT, UNION -> {
                boolean bitFields = info < 0;
                for (int i = 0; i < count; i++) {
                    members.add(readMember(bitFields));
                }
            }
            case ENUM, ENUM64 -> {
                int valueBytes = kind == Kind.ENUM ? 4 : 8;
                kind = Kind.ENUM;
                for (int i = 0; i < count; i++) {
                    enumerators.add(string(next()));
                    at += valueBytes;
                }
            }
            case FUNC_PROTO -> at += 8 * count;
            case DATASEC -> at += 12 * count;
            default -> { }
        }
        return new Type(kind, name, sizeOrType, element, members, enumerators);
    }

    /**
     * Reads a field. If the struct has bit fields, the top byte of the offset is the width of the field, zero for an
     * ordinary field.
     */
    private Member readMember(boolean bitFields) {
        String name = string(next());
        int type = next();
        int bits = next();
        // A bit field has no byte offset of its own: -1 makes the writer refuse it, and only if it is bound.
        boolean bitField = bitFields && bits >>> 24 != 0;
        return new Member(name, type, bitField ? -1 : (bitFields ? bits & 0xffffff : bits) / 8);
    }

    private int next() {
        int value = bytes.getInt(at);
        at += 4;
        return value;
    }

    private String string(int offset) {
        return Elf.string(bytes, strings + offset);
    }
}
