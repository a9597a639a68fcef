package org.kverbs.internal.ffm

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.internal.abi.CCompiler
import org.kverbs.internal.abi.inTemporaryFolder
import org.kverbs.internal.abi.runProgram
import java.lang.foreign.Arena
import java.lang.foreign.Linker
import java.lang.foreign.MemorySegment
import java.lang.foreign.SymbolLookup
import kotlin.io.path.writeText

/** Tests the assumptions about drivers and the C library. */
class DriverAssumptionsSpec :
    FunSpec({
        val compiler = CCompiler.presentOrSkipped(listOf("pthread.h"))

        test("should take the driver's name from the file of its library") {
            mapOf(
                "/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so" to "mlx5",
                "/usr/lib64/libmlx5.so.1.24.44.0" to "mlx5",
                "libhfi1verbs-rdmav34.so" to "hfi1verbs",
                "/lib/libvmw_pvrdma-rdmav57.so" to "vmw_pvrdma",
                "/lib/libibverbs.so.1" to "ibverbs",
            ).forEach { (path, driver) -> withClue(path) { UserSpaceDrivers.driver(path) shouldBe driver } }
        }

        val inUserSpace = listOf("mlx5", "mlx4", "efa")
        val others = listOf("hfi1verbs", "ipathverbs", "bnxt_re", "hns", "irdma", "cxgb4", "rxe", "siw", "unknown")

        test("should make critical calls to drivers that stay in user space, and to no other")
            .config(enabledOrReasonIf = { compiler }) {
                CCompiler.require(listOf("pthread.h"))
                val answers =
                    (inUserSpace + others).associateWith { UserSpaceDrivers.have(functionOf("lib$it-rdmav34.so")) }
                answers shouldBe answers.mapValues { (driver, _) -> driver in inUserSpace }
            }

        test("should make no critical call where libibverbs itself posts, and where there is no function") {
            UserSpaceDrivers.have(Linker.nativeLinker().defaultLookup().findOrThrow("poll")) shouldBe false
            UserSpaceDrivers.have(MemorySegment.NULL) shouldBe false
        }

        test("should know the size of a mutex in this machine's C library").config(enabledOrReasonIf = { compiler }) {
            CCompiler.require(listOf("pthread.h"))
            val size = CCompiler.evaluate(listOf("pthread.h"), listOf("sizeof(pthread_mutex_t)")).single()
            ContextTables.MUTEX_SHIFT + 40L shouldBe size
        }

        test("should know the size of a mutex in glibc and musl") {
            ContextTables.mutexSize("amd64", true) shouldBe 40
            ContextTables.mutexSize("amd64", false) shouldBe 40
            ContextTables.mutexSize("aarch64", true) shouldBe 48
            ContextTables.mutexSize("aarch64", false) shouldBe 40
        }
    })

/** A function in a library of this name. */
private fun functionOf(library: String) =
    inTemporaryFolder { folder ->
        val source = folder.resolve("driver.c").also { it.writeText("int poll_cq(void) { return 0; }\n") }
        val file = folder.resolve(library).toString()
        runProgram("gcc", "-shared", "-fPIC", "-o", file, source.toString())
        SymbolLookup.libraryLookup(file, Arena.global()).findOrThrow("poll_cq")
    }
