package org.kverbs.internal.ffm

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.internal.abi.Errno
import java.lang.foreign.Linker
import java.nio.ByteOrder
import java.util.concurrent.Executors
import java.util.concurrent.Future

/** Tests that errno is that of the call, and not of another call or another thread. */
class DowncallsSpec :
    FunSpec({
        test("should tell the errno of the call, and none of an earlier one where the function leaves errno alone") {
            badDescriptor() shouldBe -Errno.EBADF
            badAddress() shouldBe -Errno.EFAULT
            // getpid never touches errno, and chdir left EFAULT there
            Downcalls.errno(Downcalls.withErrno(GETPID, 0)) shouldBe Errno.EIO
        }

        test("should tell each of many virtual threads its own errno, with memory for the carriers alone") {
            val wrong =
                Executors.newVirtualThreadPerTaskExecutor().use { executor ->
                    val tasks: List<Future<Int>> =
                        List(10_000) { number ->
                            executor.submit<Int> {
                                (0 until 10).count {
                                    Thread.yield()
                                    val even = number % 2 == 0
                                    if (even) badDescriptor() != -Errno.EBADF else badAddress() != -Errno.EFAULT
                                }
                            }
                        }
                    tasks.sumOf { it.get() }
                }
            withClue("answers with the errno of another call") { wrong shouldBe 0 }
            withClue("memory for so many threads") { ThreadErrno.OF_CARRIERS.size shouldBeLessThan 1000 }
        }

        test("should read a GUID, which is big-endian in memory, on processors of both orders") {
            Libibverbs.hostOrder(0x0807060504030201, ByteOrder.LITTLE_ENDIAN) shouldBe 0x0102030405060708
            Libibverbs.hostOrder(0x0102030405060708, ByteOrder.BIG_ENDIAN) shouldBe 0x0102030405060708
        }
    })

private fun function(name: String) = Linker.nativeLinker().defaultLookup().findOrThrow(name)

private val CLOSE = function("close")
private val CHDIR = function("chdir")
private val GETPID = function("getpid")

private fun badDescriptor() = Downcalls.number(Downcalls.withErrno(CLOSE, -1))

private fun badAddress() = Downcalls.number(Downcalls.withErrno(CHDIR, 0))
