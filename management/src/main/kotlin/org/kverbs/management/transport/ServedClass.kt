package org.kverbs.management.transport

import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.described

private const val FIRST_VERSION = 1
private const val OPENIB = 0x001405

/**
 * The requests of other ports that a program answers, for [MadTransport.serve].
 *
 * @property mgmtClass the management class
 * @property vendor the 24 bits of the vendor's OUI, for classes 0x30 to 0x4f; 0 for the others. Without this it is the one
 *   of OpenIB for its own classes
 * @property methods the methods of the requests
 * @property classVersion the version of the class
 * @throws IllegalArgumentException if the class has no vendors, or one of the numbers is out of its range
 */
public data class ServedClass(
    public val mgmtClass: ManagementClass,
    public val vendor: Int = vendorOf(mgmtClass),
    public val methods: Set<Method> = REQUESTS,
    public val classVersion: Int = versionOf(mgmtClass),
) {
    init {
        require(
            vendor in 0..0xffffff,
        ) { "the vendor 0x${vendor.toString(16)} is out of range; give the 24 bits of an OUI" }
        require(vendor == 0 || mgmtClass.value in ofVendors) { "the class $mgmtClass has no vendors: give 0" }
    }

    /** The methods that are served without another choice. */
    public companion object {
        /** The methods of all requests: everything but answers. */
        public val REQUESTS: Set<Method> =
            setOf(
                Method.GET,
                Method.SET,
                Method.SEND,
                Method.TRAP,
                Method.REPORT,
                Method.GET_TABLE,
                Method.GET_TRACE_TABLE,
                Method.GET_MULTI,
                Method.DELETE,
            )

        /** The classes whose datagrams have a vendor's OUI. */
        internal val ofVendors = ManagementClass.VENDOR_RANGE2_FIRST.value..ManagementClass.VENDOR_RANGE2_LAST.value

        /** The vendor of a class that only one has, or 0. */
        internal fun vendorOf(mgmtClass: ManagementClass): Int =
            if (mgmtClass == ManagementClass.OPENIB_PING || mgmtClass == ManagementClass.OPENIB_SYSSTAT) OPENIB else 0

        /** The version of a class by its attributes; 1 for a class that none is known of. */
        private fun versionOf(mgmtClass: ManagementClass): Int =
            described.structures
                .flatMap { it.attributes }
                .filter { mgmtClass.value in it.classes }
                .filter { mgmtClass.value !in ofVendors }
                .maxOfOrNull { it.classVersion } ?: FIRST_VERSION
    }
}
