package org.kverbs.ibtool.routes

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe

class RoutedHostsSpec :
    FunSpec({
        test("should write names with numbers at their ends as ranges, by the prefixes") {
            RoutedHosts.ranges(listOf("lx05", "lx02", "lx01", "dev21", "lx03", "dev1", "dev0", "alone")) shouldBe
                listOf("alone", "dev0-1", "dev21", "lx01-03", "lx05")
        }
    })
