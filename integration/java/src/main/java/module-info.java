/** A program of a user's, with a name of its own for modules. */
module example.echo {
    requires org.kverbs;
    requires org.kverbs.coroutines;
    requires org.kverbs.embedded;
}
