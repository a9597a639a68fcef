/** Diagnostics: watches the memory of posted work requests for what a network card would do wrong in silence. */
@NullMarked
package org.kverbs.embedded.internal.watch;

import org.jspecify.annotations.NullMarked;
