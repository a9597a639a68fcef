package org.kverbs.structures

/**
 * A method that a requester sends with an attribute.
 *
 * @property code the value in a MAD's header
 * @property text the name in descriptions
 */
public enum class RequestMethod(
    public val code: Int,
    public val text: String,
) {
    /** Asks for the attribute. */
    GET(0x01, "Get"),

    /** Changes the attribute. */
    SET(0x02, "Set"),

    /** Sends the attribute; no answer is defined. */
    SEND(0x03, "Send"),

    /** Reports an event to the manager. */
    TRAP(0x05, "Trap"),

    /** Forwards an event to a subscriber. */
    REPORT(0x06, "Report"),

    /** Answers a trap, so that its sender stops to repeat it. */
    TRAP_REPRESS(0x07, "TrapRepress"),

    /** Asks for all records that match. */
    GET_TABLE(0x12, "GetTable"),

    /** Asks for the route between two ports. */
    GET_TRACE_TABLE(0x13, "GetTraceTable"),

    /** Asks for records by a structured request, such as paths between many ports. */
    GET_MULTI(0x14, "GetMulti"),

    /** Deletes a record. */
    DELETE(0x15, "Delete"),
}

/** Marks structures that the method Get asks for. */
public interface TakesGet

/** Marks structures that the method Set changes. */
public interface TakesSet

/** Marks structures that the method Send carries. */
public interface TakesSend

/** Marks structures that the method Trap carries. */
public interface TakesTrap

/** Marks structures that the method Report carries. */
public interface TakesReport

/** Marks structures that the method TrapRepress carries. */
public interface TakesTrapRepress

/** Marks structures that the method GetTable asks for. */
public interface TakesGetTable

/** Marks structures that the method GetTraceTable asks for. */
public interface TakesGetTraceTable

/** Marks structures that the method GetMulti asks with. */
public interface TakesGetMulti

/** Marks structures that the method Delete removes. */
public interface TakesDelete
