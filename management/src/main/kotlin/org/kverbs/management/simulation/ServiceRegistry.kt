package org.kverbs.management.simulation

import org.kverbs.management.structures.ServiceAssociationRecord
import org.kverbs.management.structures.ServiceRecord

private const val MOST_SERVICES = 100_000

/** The services that nodes have announced. A lease does not run out: a test that wants that deletes the record. */
internal class ServiceRegistry {
    private val services = LinkedHashMap<List<Any>, ServiceRecord>()

    fun serve(question: Question): Found {
        val record = ServiceRecord.of(question.data(ServiceRecord.byteSize))
        if (question.isSet) {
            if (services.size >= MOST_SERVICES) return Found(emptyList(), NO_RESOURCES)
            services[key(record)] = record
            return Found(listOf(record))
        }
        val matching = Matching(ServiceRecord.components, question.mask, record.bytes())
        val found = services.values.filter { matching.matches(it) }
        if (question.isDelete) found.forEach { services.remove(key(it)) }
        return Found(if (question.isDelete) found.take(1) else found)
    }

    /** The keys and names of the services, each pair once. */
    fun associations(question: Question): Found {
        val wanted = question.data(ServiceAssociationRecord.byteSize)
        val matching = Matching(ServiceAssociationRecord.components, question.mask, wanted)
        val all =
            services.values
                .map { service ->
                    ServiceAssociationRecord {
                        serviceKey = service.serviceKey
                        serviceName = service.serviceName
                    }
                }.distinct()
        return Found(all.filter { matching.matches(it) })
    }

    private fun key(record: ServiceRecord) = listOf(record.serviceID, record.serviceGID, record.servicePKey)

    private companion object {
        const val NO_RESOURCES = 1 shl 8
    }
}
