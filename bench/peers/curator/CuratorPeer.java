// SPDX-License-Identifier: Apache-2.0
// The peer of locks/zookeeper: the mutexes of Apache Curator.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.retry.RetryOneTime;

/**
 * Arguments: the address of a ZooKeeper, and the port of 127.0.0.1 where its orders come from, so
 * that its rounds alternate with those of others while its code stays compiled. An order is a line,
 * WHAT COUNT; its answer is a line of so many numbers, microseconds each:
 *
 * <p>mutex: acquire and release of an InterProcessMutex that nobody else wants; semaphore: the same
 * of an InterProcessSemaphoreMutex; hand-off: from the call of an InterProcessMutex's release to
 * the return of the acquire of one that waits, over a session of its own.
 *
 * <p>Ends when the orders end. Exits with 1 when one of them fails, or none comes for five minutes.
 */
public final class CuratorPeer {
  /** As ours asks for. */
  private static final int SESSION_MS = 40_000;
  private static final int CONNECT_MS = 30_000;
  private static final int PATIENCE_SECONDS = 30;
  private static final int NO_ORDERS_MS = 300_000;

  private final InterProcessMutex mutex;
  private final InterProcessSemaphoreMutex semaphore;
  private final InterProcessMutex handedBy;
  private final InterProcessMutex handedTo;
  /** Where the one that waits runs. */
  private final ExecutorService waits = Executors.newSingleThreadExecutor();

  private CuratorPeer(CuratorFramework one, CuratorFramework two) {
    mutex = new InterProcessMutex(one, "/curator/mutex");
    semaphore = new InterProcessSemaphoreMutex(one, "/curator/semaphore");
    handedBy = new InterProcessMutex(one, "/curator/handed");
    handedTo = new InterProcessMutex(two, "/curator/handed");
  }

  private static CuratorFramework connected(String zooKeeper) throws Exception {
    final CuratorFramework client =
        CuratorFrameworkFactory.builder()
            .connectString(zooKeeper)
            .sessionTimeoutMs(SESSION_MS)
            .connectionTimeoutMs(CONNECT_MS)
            .retryPolicy(new RetryOneTime(100))
            .build();
    client.start();
    if (!client.blockUntilConnected(CONNECT_MS, TimeUnit.MILLISECONDS)) {
      throw new TimeoutException("no connection to " + zooKeeper);
    }
    return client;
  }

  private static void take(InterProcessLock lock) throws Exception {
    if (!lock.acquire(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
      throw new TimeoutException("no turn");
    }
  }

  private static long pair(InterProcessLock lock) throws Exception {
    final long begin = System.nanoTime();
    take(lock);
    lock.release();
    return System.nanoTime() - begin;
  }

  private long handOff() throws Exception {
    take(handedBy);
    final Future<Long> got =
        waits.submit(
            () -> {
              take(handedTo);
              final long now = System.nanoTime();
              handedTo.release();
              return now;
            });
    // As ours is waited for: until the store knows of both.
    final long patience = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (handedBy.getParticipantNodes().size() < 2) {
      if (got.isDone() || System.nanoTime() > patience) {
        throw new IllegalStateException("nobody waits");
      }
      Thread.yield();
    }
    final long begin = System.nanoTime();
    handedBy.release();
    return got.get(PATIENCE_SECONDS, TimeUnit.SECONDS) - begin;
  }

  private long once(String what) throws Exception {
    switch (what) {
      case "mutex":
        return pair(mutex);
      case "semaphore":
        return pair(semaphore);
      case "hand-off":
        return handOff();
      default:
        throw new IllegalArgumentException("no such order: " + what);
    }
  }

  private String answer(String order) throws Exception {
    final String[] words = order.split(" ", 2);
    final long[] nanos = new long[Integer.parseInt(words[1])];
    for (int i = 0; i < nanos.length; i++) {
      nanos[i] = once(words[0]);
    }
    final StringBuilder line = new StringBuilder();
    for (final long took : nanos) {
      line.append(String.format(Locale.ROOT, "%.3f ", took / 1e3));
    }
    return line.toString();
  }

  private static void run(String zooKeeper, int port) throws Exception {
    try (Socket orders = new Socket()) {
      orders.connect(new InetSocketAddress("127.0.0.1", port), CONNECT_MS);
      orders.setSoTimeout(NO_ORDERS_MS);
      final BufferedReader in =
          new BufferedReader(
              new InputStreamReader(orders.getInputStream(), StandardCharsets.US_ASCII));
      final PrintStream out = new PrintStream(orders.getOutputStream(), true, "US-ASCII");
      final CuratorPeer peer = new CuratorPeer(connected(zooKeeper), connected(zooKeeper));
      for (String order = in.readLine(); order != null; order = in.readLine()) {
        out.println(peer.answer(order));
        if (out.checkError()) {
          throw new IOException("nobody takes the answer");
        }
      }
    }
  }

  public static void main(String[] args) {
    if (args.length != 2) {
      System.err.println("usage: ZOOKEEPER PORT");
      System.exit(2);
    }
    int status = 0;
    try {
      run(args[0], Integer.parseInt(args[1]));
    } catch (Exception error) {
      error.printStackTrace();
      status = 1;
    }
    // Threads of the client's may still run.
    Runtime.getRuntime().halt(status);
  }
}
