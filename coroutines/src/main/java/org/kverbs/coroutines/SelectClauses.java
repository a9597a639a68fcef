package org.kverbs.coroutines;

import kotlin.Unit;
import kotlin.coroutines.CoroutineContext;
import kotlin.jvm.functions.Function3;
import kotlinx.coroutines.selects.SelectClause1;
import kotlinx.coroutines.selects.SelectClause1Impl;
import kotlinx.coroutines.selects.SelectInstance;

/**
 * Makes clauses for {@code select}. In Java, because kotlinx.coroutines has no public way to make one: the class is
 * internal to Kotlin, and public to the virtual machine.
 */
final class SelectClauses {
    private SelectClauses() {}

    /**
     * A clause.
     *
     * @param register enlists the select instance; gets the clause's object, the instance, and nothing
     * @param process makes the clause's value from what selected it, the third argument
     * @param cancelled tells what to do if the select is cancelled after it was selected; its third argument is what
     *     selected it
     */
    static <T> SelectClause1<T> of(
            Object clause,
            Function3<Object, ? super SelectInstance<?>, Object, Unit> register,
            Function3<Object, Object, Object, Object> process,
            Function3<? super SelectInstance<?>, Object, Object,
            Function3<Throwable, Object, CoroutineContext, Unit>> cancelled) {
        return new SelectClause1Impl<>(clause, register, process, cancelled);
    }
}
