package org.kverbs.benchmarks.bench

import io.netty.bootstrap.Bootstrap
import io.netty.bootstrap.ServerBootstrap
import io.netty.buffer.ByteBuf
import io.netty.buffer.Unpooled
import io.netty.channel.Channel
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelInboundHandlerAdapter
import io.netty.channel.ChannelInitializer
import io.netty.channel.ChannelOption
import io.netty.channel.IoHandlerFactory
import io.netty.channel.MultiThreadIoEventLoopGroup
import io.netty.channel.ServerChannel
import java.net.InetAddress
import java.net.InetSocketAddress
import java.util.concurrent.CountDownLatch
import java.util.concurrent.LinkedBlockingQueue

/**
 * TCP on the loopback by Netty. Each end is an event loop with one thread, which does the work of [Exchange]'s calls;
 * their threads wait.
 */
internal class NettyExchange(
    handlers: () -> IoHandlerFactory,
    server: Class<out ServerChannel>,
    client: Class<out Channel>,
) : Exchange {
    private val groups = List(2) { MultiThreadIoEventLoopGroup(1, handlers()) }
    private val near = End()
    private val far = End()

    init {
        val accepted = LinkedBlockingQueue<Channel>()
        val listener =
            ServerBootstrap()
                .group(groups[1])
                .channel(server)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(initializer(far) { accepted += it })
                .bind(InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                .sync()
                .channel()
        near.channel =
            Bootstrap()
                .group(groups[0])
                .channel(client)
                .option(ChannelOption.TCP_NODELAY, true)
                .handler(initializer(near) {})
                .connect(listener.localAddress())
                .sync()
                .channel()
        far.channel = accepted.take()
        listener.close().sync()
    }

    private fun initializer(
        end: End,
        opened: (Channel) -> Unit,
    ) = object : ChannelInitializer<Channel>() {
        override fun initChannel(channel: Channel) {
            channel.pipeline().addLast(end)
            opened(channel)
        }
    }

    override fun ask(
        bytes: Int,
        count: Int,
    ) = near.play(Asking(bytes, count))

    override fun answer(
        bytes: Int,
        count: Int,
    ) = far.play(Answering(bytes, count))

    override fun send(
        bytes: Int,
        count: Int,
    ) = near.play(Sending(bytes, count))

    override fun receive(
        bytes: Int,
        count: Int,
    ) = far.play(Receiving(bytes, count))

    override fun close() {
        near.channel.close().sync()
        groups.forEach { it.shutdownGracefully(0, 1, java.util.concurrent.TimeUnit.SECONDS).sync() }
    }

    /** One end's part in a call; its functions run in the end's event loop. */
    private abstract class Part(
        val bytes: Int,
        val count: Int,
    ) {
        private val over = CountDownLatch(1)

        @Volatile
        private var failure: Throwable? = null

        open fun begin(channel: Channel) = Unit

        open fun arrived(
            channel: Channel,
            found: Int,
        ): Unit = error("$found bytes came, where none was to come")

        open fun writable(channel: Channel) = Unit

        fun end(cause: Throwable? = null) {
            failure = cause
            over.countDown()
        }

        fun await() {
            over.await()
            failure?.let { throw IllegalStateException("Netty's end failed", it) }
        }
    }

    private class Asking(
        bytes: Int,
        count: Int,
    ) : Part(bytes, count) {
        private var left = count
        private var here = 0

        override fun begin(channel: Channel) = write(channel, bytes)

        override fun arrived(
            channel: Channel,
            found: Int,
        ) {
            here += found
            if (here < bytes) return
            here = 0
            if (--left == 0) end() else write(channel, bytes)
        }
    }

    private class Answering(
        bytes: Int,
        count: Int,
    ) : Part(bytes, count) {
        private var left = count
        private var here = 0

        override fun arrived(
            channel: Channel,
            found: Int,
        ) {
            here += found
            if (here < bytes) return
            here = 0
            write(channel, bytes)
            if (--left == 0) end()
        }
    }

    private class Sending(
        bytes: Int,
        count: Int,
    ) : Part(bytes, count) {
        private var left = count

        override fun begin(channel: Channel) = writable(channel)

        override fun writable(channel: Channel) {
            if (left == 0) return
            while (channel.isWritable && left > 0) {
                left--
                write(channel, bytes)
            }
            if (left == 0) end()
        }
    }

    private class Receiving(
        bytes: Int,
        count: Int,
    ) : Part(bytes, count) {
        private var left = bytes.toLong() * count

        override fun arrived(
            channel: Channel,
            found: Int,
        ) {
            left -= found
            if (left == 0L) end()
        }
    }

    private class End : ChannelInboundHandlerAdapter() {
        lateinit var channel: Channel
        private var part: Part? = null

        /** What came before the part that takes it. */
        private var early = 0

        fun play(next: Part) {
            channel.eventLoop().execute {
                part = next
                next.begin(channel)
                val found = early
                early = 0
                if (found > 0) next.arrived(channel, found)
            }
            next.await()
            channel.eventLoop().submit { part = null }.sync()
        }

        override fun channelRead(
            context: ChannelHandlerContext,
            message: Any,
        ) {
            val bytes = message as ByteBuf
            val found = bytes.readableBytes()
            bytes.release()
            part?.arrived(context.channel(), found) ?: run { early += found }
        }

        override fun channelWritabilityChanged(context: ChannelHandlerContext) {
            part?.writable(context.channel())
        }

        override fun exceptionCaught(
            context: ChannelHandlerContext,
            cause: Throwable,
        ) {
            part?.end(cause)
        }
    }

    private companion object {
        private val CONTENT: ByteBuf = Unpooled.unreleasableBuffer(Unpooled.directBuffer(Exchange.LONGEST))

        fun write(
            channel: Channel,
            bytes: Int,
        ) {
            channel.writeAndFlush(CONTENT.slice(0, bytes).retain())
        }
    }
}
