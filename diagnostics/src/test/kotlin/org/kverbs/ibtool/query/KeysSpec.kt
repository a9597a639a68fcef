package org.kverbs.ibtool.query

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.ibtool.Outcome
import org.kverbs.management.structures.InformInfoRecord
import org.kverbs.management.structures.ServiceRecord
import org.kverbs.structures.dotted
import org.kverbs.structures.toJson

/** Keys of nodes, of managers and of services are shown with -K alone. */
class KeysSpec :
    FunSpec({
        fun run(line: String) = Outcome(*line.split(' ').toTypedArray(), "--fabric", "hosts:2").let { "$it" }

        test("should not show the key of a subnet manager without -K, by whatever label it has") {
            run("query SMInfo 1") shouldContain "SmInfoKey:.......................<not displayed>\n"
            run("query SMInfo 1 -K") shouldContain "SmInfoKey:.......................0x"
            run("query SMInfoRecord") shouldContain "SmInfoKey:.......................<not displayed>\n"
        }

        test("should not show the key of a service, by whatever label it has") {
            val record = ServiceRecord { serviceName = "a service" }
            val text = Secrets.hidden(record.dotted(), record.description)
            text shouldContain "ServRecKey:......................<not displayed>\n"
            text shouldContain "ServRecName:.....................'a service'\n"
        }

        for (line in listOf("saquery PIR", "saquery -s")) {
            test("should leave out the management key in the JSON of: $line") {
                run("$line --json") shouldNotContain "\"mKey\""
                run("$line --json -K") shouldContain "\"mKey\""
            }
        }

        test("should leave out the queue pair of a subscriber in JSON, as the text of saquery does") {
            val json = InformInfoRecord().toJson()
            "$json" shouldContain "\"qpn\""
            "${Secrets.withoutHiddenBySaquery(json)}" shouldNotContain "\"qpn\""
        }

        test("should show the keys of managers and of services in JSON, as the text of saquery does") {
            "${Secrets.withoutHiddenBySaquery(ServiceRecord().toJson())}" shouldContain "\"serviceKey\""
        }

        test("should leave out the key of a manager, which the text of sminfo never shows") {
            run("sminfo --json") shouldContain "\"priority\""
            run("sminfo --json") shouldNotContain "\"smKey\""
        }
    })
