package org.kverbs.internal.values;

import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * Reads a type of value from its C structure and writes it there. Users have no C structures. Therefore the class of a
 * value keeps its reader and writer private and offers them here to the other packages of kverbs.
 *
 * @param <T> the value's class
 */
public final class Structure<T> {

    /** Reads a value with a mask that names its valid fields. */
    @FunctionalInterface
    public interface Reader<T> {
        /** Reads from the start of {@code segment} what {@code mask} names. */
        T read(MemorySegment segment, int mask);
    }

    private static final Map<Class<?>, Structure<?>> OFFERED = new ConcurrentHashMap<>();
    private static final int ALL = -1;

    private final Reader<T> reader;
    private final BiConsumer<T, MemorySegment> writer;

    private Structure(Reader<T> reader, BiConsumer<T, MemorySegment> writer) {
        this.reader = reader;
        this.writer = writer;
    }

    /** Offers the reader and the writer of a type. The static initializer of the value's class calls this. */
    public static <T> void offer(
            Class<T> type, Function<MemorySegment, T> reader, BiConsumer<T, MemorySegment> writer) {
        offerMasked(type, (segment, mask) -> reader.apply(segment), writer);
    }

    /** Offers the reader of a type that is only read. */
    public static <T> void offer(Class<T> type, Function<MemorySegment, T> reader) {
        offer(type, reader, (value, segment) -> {
            throw new UnsupportedOperationException(type.getSimpleName() + " is only read");
        });
    }

    /** Offers the reader and the writer of a type with a mask. */
    public static <T> void offerMasked(Class<T> type, Reader<T> reader, BiConsumer<T, MemorySegment> writer) {
        OFFERED.put(type, new Structure<>(reader, writer));
    }

    /** Returns the structure that a class has offered. */
    @SuppressWarnings("unchecked") // offer puts each under its own type
    public static <T> Structure<T> of(Class<T> type) {
        try {
            Class.forName(type.getName(), true, type.getClassLoader()); // so that it has offered
        } catch (ClassNotFoundException e) {
            throw new LinkageError("a class that is loaded is not found", e);
        }
        Structure<?> offered = OFFERED.get(type);
        if (offered == null) {
            throw new IllegalArgumentException(type + " offers no structure");
        }
        return (Structure<T>) offered;
    }

    /** Reads all of a value from the start of {@code segment}. */
    public T read(MemorySegment segment) {
        return reader.read(segment, ALL);
    }

    /** Reads what {@code mask} names. */
    public T read(MemorySegment segment, int mask) {
        return reader.read(segment, mask);
    }

    /** Writes the C structure, all of it, at the start of {@code segment}. */
    public void write(T value, MemorySegment segment) {
        writer.accept(value, segment);
    }
}
