/**
 * The verbs objects, connections by IP address, and the seam that providers of devices implement.
 *
 * <p>Opens nothing. The packages named internal are for kverbs' own modules alone.
 */
@SuppressWarnings("module") // kverbs' other modules are compiled after this one
module org.kverbs {
    requires static jdk.jfr; // without it no events are recorded
    requires static transitive org.jspecify;

    exports org.kverbs;
    exports org.kverbs.attributes;
    exports org.kverbs.cm;
    exports org.kverbs.spi;
    exports org.kverbs.umad;

    exports org.kverbs.internal to
            org.kverbs.coroutines,
            org.kverbs.dsl,
            org.kverbs.efa,
            org.kverbs.embedded,
            org.kverbs.mlx5;
    exports org.kverbs.internal.abi to
            org.kverbs.efa,
            org.kverbs.embedded,
            org.kverbs.mlx5;
    exports org.kverbs.internal.jfr to
            org.kverbs.coroutines;
    exports org.kverbs.internal.memory to
            org.kverbs.efa,
            org.kverbs.embedded,
            org.kverbs.mlx5;

    uses org.kverbs.spi.VerbsProvider;

    provides org.kverbs.spi.VerbsProvider with
            org.kverbs.internal.ffm.NativeProvider;
}
