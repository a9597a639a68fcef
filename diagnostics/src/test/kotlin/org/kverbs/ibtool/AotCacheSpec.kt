package org.kverbs.ibtool

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import java.nio.file.Path
import kotlin.io.path.readText

class AotCacheSpec :
    FunSpec({
        test("should know the program whose classes the launcher keeps, for it doesn't hear of its failure") {
            val launcher = Path.of(System.getProperty("kverbs.root"), "ibtool").readText()
            val program = Regex("(?m)^aot_run=\\((.*)\\)$").find(launcher)!!.groupValues[1]
            val main = Class.forName(program).getMethod("main", Array<String>::class.java)
            main.invoke(null, emptyArray<String>()) shouldBe null
        }
    })
