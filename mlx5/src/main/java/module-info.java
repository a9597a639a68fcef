/** What the driver mlx5 has beyond libibverbs: dynamically connected transport, compressed completions. */
@SuppressWarnings("module") // the driver's name ends with a digit
module org.kverbs.mlx5 {
    requires transitive org.kverbs;
    requires static transitive org.jspecify;

    exports org.kverbs.mlx5;
}
