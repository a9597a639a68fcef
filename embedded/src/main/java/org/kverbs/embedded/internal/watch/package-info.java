/** The diagnostics: watch the memory of posted work requests for mistakes that a network card does not report. */
@NullMarked
package org.kverbs.embedded.internal.watch;

import org.jspecify.annotations.NullMarked;
