package org.kverbs.management.rmpp

/**
 * A receiver that hears of the long messages of its own requests, and of the answers to these: of what becomes of a
 * message that a peer asked for, or sent unasked, it hears nothing. A peer chooses the numbers of such messages, and can
 * choose those of this program's requests to others.
 */
internal interface OwnTransfersAlone
