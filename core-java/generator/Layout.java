import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * The fields of one C struct or union as a flat list. Members of a named nested aggregate are prefixed with its name,
 * those of an anonymous one are not. A typedef of an aggregate, such as pthread_mutex_t, stays opaque, and so does an
 * array.
 */
final class Layout {
    /**
     * A field. {@code path} is the argument of offsetof. {@code movable} is whether the offset depends on the size of
     * the C library's mutex.
     */
    record Field(String javaName, String path, int offset, String cType, boolean movable) {}

    /** The constant that holds the size of the whole struct. */
    private static final String WHOLE = "SIZE";

    private static final Set<String> PLATFORM_SIZED = Set.of("pthread_mutex_t", "pthread_cond_t");

    final int size;
    final List<Field> fields = new ArrayList<>();
    private final Btf btf;
    private final Set<String> names = new HashSet<>(Set.of(WHOLE));
    private boolean afterMutex;

    Layout(Btf btf, Btf.Type aggregate) {
        this.btf = btf;
        this.size = aggregate.sizeOrType();
        walk(aggregate, "", 0);
    }

    /** Returns whether the size of the type depends on the size of the C library's mutex. */
    boolean movable() {
        return afterMutex;
    }

    private void walk(Btf.Type aggregate, String prefix, int base) {
        for (Btf.Member member : aggregate.members()) {
            Btf.Type type = btf.type(member.type());
            if (member.offset() < 0) {
                throw new GeneratorException(prefix + member.name() + " is a bit field; the generator cannot bind it.");
            }
            int offset = base + member.offset();
            if (member.name().isEmpty()) {
                walk(type, prefix, offset);
            } else {
                add(prefix + member.name(), offset, member.type());
                if (type.aggregate()) {
                    walk(type, prefix + member.name() + ".", offset);
                }
            }
            afterMutex |= PLATFORM_SIZED.contains(type.name());
        }
    }

    private void add(String path, int offset, int type) {
        String upper = path.replace('.', '_').toUpperCase(Locale.ROOT);
        String javaName = upper.equals(WHOLE) ? upper + "_FIELD" : upper; // a field "size" beside the whole size
        if (!names.add(javaName)) {
            throw new GeneratorException("Two fields of one struct would be called " + javaName + ": see " + path
                    + ".");
        }
        fields.add(new Field(javaName, path, offset, describe(type), afterMutex));
    }

    private String describe(int id) {
        Btf.Type type = btf.type(id);
        return switch (type.kind()) {
            case PTR -> btf.type(type.sizeOrType()).kind() == Btf.Kind.FUNC_PROTO
                ? "function pointer"
                : describe(type.sizeOrType()) + " *";
            case ARRAY -> describe(type.element()) + "[" + type.sizeOrType() + "]";
            case CONST -> "const " + describe(type.sizeOrType());
            case VOLATILE -> "volatile " + describe(type.sizeOrType());
            case TYPEDEF -> type.name().startsWith("__be") ? type.name() + ", big-endian" : type.name();
            case STRUCT, FWD -> ("struct " + type.name()).trim();
            case UNION -> ("union " + type.name()).trim();
            case ENUM -> ("enum " + type.name()).trim();
            default -> type.name();
        };
    }
}
