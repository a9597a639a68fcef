package org.kverbs.coroutines;

import kotlin.Unit;
import kotlin.coroutines.CoroutineContext;
import kotlin.jvm.functions.Function3;
import kotlinx.coroutines.selects.SelectClause1;
import kotlinx.coroutines.selects.SelectClause1Impl;
import kotlinx.coroutines.selects.SelectInstance;

/**
 * Creates clauses for {@code select}. It is written in Java because kotlinx.coroutines has no public function for that:
 * the class is internal in Kotlin, but public in bytecode.
 */
final class SelectClauses {
    private SelectClauses() {}

    /**
     * Creates a clause.
     *
     * @param register enlists the select instance; its arguments are the clause's object, the instance, and null
     * @param process creates the clause's value from its third argument, the object that selected the clause
     * @param cancelled returns the action for a select that is cancelled after it was selected; its third argument is
     *   the object that selected the clause
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
