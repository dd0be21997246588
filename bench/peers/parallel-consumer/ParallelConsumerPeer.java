// SPDX-License-Identifier: Apache-2.0
// The peer of runtime/no-window: Confluent Parallel Consumer, order by key, empty handler.

import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelConsumerOptions.CommitMode;
import io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.LongStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Arguments: brokers, topic, group, messages to measure, messages to run before them (so that the
 * clock starts on compiled code). Prints one line of JSON: messages, seconds from the first
 * measured one to the last, and how many of them had not been handled before. Exits with 1 after
 * five minutes.
 */
public final class ParallelConsumerPeer {
  /** As often as the runtime and the floor. */
  private static final Duration COMMIT_EVERY = Duration.ofMillis(500);
  /** docs/performance.md has what other numbers, and batches, gave. */
  private static final int CONCURRENCY = 100;
  private static final int OFFSET_BITS = 48;
  private static final long PATIENCE_MINUTES = 5;

  private final long warmUp;
  private final long messages;
  private final AtomicLong handled = new AtomicLong();
  /** Where each of them came from, in the order in which they were counted; 0: not told yet. */
  private final AtomicLongArray origins;
  private final AtomicLong withoutId = new AtomicLong();
  private final CountDownLatch finished = new CountDownLatch(1);
  private volatile long began;
  private volatile long ended;

  private ParallelConsumerPeer(long messages, long warmUp) {
    this.messages = messages;
    this.warmUp = warmUp;
    origins = new AtomicLongArray(Math.toIntExact(warmUp + messages));
  }

  /** Reads one header, as the floor does, counts and notes. Many threads at once. */
  private void handle(ConsumerRecord<String, byte[]> record) {
    if (record.headers().lastHeader("message-id") == null) {
      withoutId.incrementAndGet();
    }
    final long count = handled.incrementAndGet();
    if (count <= origins.length()) {
      origins.setRelease(
          (int) count - 1, ((record.partition() + 1L) << OFFSET_BITS) | record.offset());
    }
    if (count == warmUp + 1) {
      began = System.nanoTime();
    } else if (count == warmUp + messages) {
      ended = System.nanoTime();
      finished.countDown();
    }
  }

  /** Of the measured messages, those that were handled neither before nor in the warm-up. */
  private long applied() {
    final long different =
        LongStream.range(0, origins.length()).map(at -> originAt((int) at)).distinct().count();
    return different - warmUp;
  }

  /** A thread that has counted its message may not have noted it yet. */
  private long originAt(int at) {
    long origin = origins.getAcquire(at);
    while (origin == 0) {
      Thread.onSpinWait();
      origin = origins.getAcquire(at);
    }
    return origin;
  }

  private void run(String brokers, String topic, String group) throws Exception {
    final ParallelConsumerOptions<String, byte[]> options =
        ParallelConsumerOptions.<String, byte[]>builder()
            .consumer(new KafkaConsumer<>(consumerProperties(brokers, group)))
            .ordering(ProcessingOrder.KEY)
            .maxConcurrency(CONCURRENCY)
            .commitMode(CommitMode.PERIODIC_CONSUMER_ASYNCHRONOUS)
            .commitInterval(COMMIT_EVERY)
            .build();
    final ParallelStreamProcessor<String, byte[]> processor =
        ParallelStreamProcessor.createEosStreamProcessor(options);
    processor.subscribe(List.of(topic));
    processor.poll(context -> handle(context.getSingleConsumerRecord()));
    if (!finished.await(PATIENCE_MINUTES, TimeUnit.MINUTES)) {
      throw new TimeoutException(
          String.format("%d of %d messages", handled.get(), warmUp + messages));
    }
    if (withoutId.get() != 0) {
      throw new IllegalStateException(withoutId.get() + " messages had no id");
    }
    System.out.printf(
        Locale.ROOT,
        "{\"messages\":%d,\"seconds\":%.6f,\"applied\":%d}%n",
        messages,
        (ended - began) / 1e9,
        applied());
    System.out.flush();
  }

  private static Properties consumerProperties(String brokers, String group) {
    final Properties properties = new Properties();
    properties.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, brokers);
    properties.put(ConsumerConfig.GROUP_ID_CONFIG, group);
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    properties.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    properties.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, 2 << 20);
    properties.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 100);
    properties.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class);
    properties.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    return properties;
  }

  public static void main(String[] args) {
    if (args.length != 5) {
      System.err.println("usage: BROKERS TOPIC GROUP MESSAGES WARM_UP");
      System.exit(2);
    }
    int status = 0;
    try {
      new ParallelConsumerPeer(Long.parseLong(args[3]), Long.parseLong(args[4]))
          .run(args[0], args[1], args[2]);
    } catch (Exception error) {
      error.printStackTrace();
      status = 1;
    }
    // The topic has more messages: an orderly close would finish what is buffered first.
    Runtime.getRuntime().halt(status);
  }
}
