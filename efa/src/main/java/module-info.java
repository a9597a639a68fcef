/** What the driver efa has beyond libibverbs: scalable reliable datagrams. */
module org.kverbs.efa {
    requires transitive org.kverbs;
    requires static transitive org.jspecify;

    exports org.kverbs.efa;
}
