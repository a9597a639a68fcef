/** A software RDMA device: the second provider behind the seam of {@code org.kverbs}. Opens nothing. */
module org.kverbs.embedded {
    requires transitive org.kverbs;
    requires jdk.net; // ExtendedSocketOptions
    requires static transitive org.jspecify;

    exports org.kverbs.embedded;

    provides org.kverbs.spi.VerbsProvider with
            org.kverbs.embedded.EmbeddedProvider;
}
