// SPDX-License-Identifier: Apache-2.0

// The peer of runtime/memory: what people write by hand with franz-go, a loop with a map of the
// ids that it has seen.
//
// Arguments: brokers, topic, group, messages. Prints one line of JSON: messages, seconds from the
// first to the last, and how often the handler ran. Exits with 1 after five minutes.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	commitEvery = 500 * time.Millisecond
	patience    = 5 * time.Minute
)

type loop struct {
	client    *kgo.Client
	seen      map[string]struct{}
	applied   int64
	committed time.Time
	waiting   bool
	replies   chan error
}

func run(brokers, topic, group string, messages int64) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.FetchMaxPartitionBytes(2<<20),
		kgo.FetchMaxWait(100*time.Millisecond),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	// Room for all of them from the start, as our window has it.
	l := loop{
		client:  client,
		seen:    make(map[string]struct{}, messages),
		replies: make(chan error, 1),
	}
	var read int64
	var began time.Time
	for read < messages {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("after %d messages: %w", read, err)
		}
		if began.IsZero() {
			began = time.Now()
			l.committed = began
		}
		fetches.EachRecord(l.handle)
		read += int64(fetches.NumRecords())
		if err := l.commit(ctx); err != nil {
			return err
		}
	}
	fmt.Printf("{\"messages\":%d,\"seconds\":%.6f,\"applied\":%d}\n",
		read, time.Since(began).Seconds(), l.applied)
	return nil
}

// handle claims the id, runs a handler that does nothing, and completes the id.
func (l *loop) handle(record *kgo.Record) {
	for _, header := range record.Headers {
		if header.Key != "message-id" {
			continue
		}
		if _, duplicate := l.seen[string(header.Value)]; !duplicate {
			l.applied++
			l.seen[string(header.Value)] = struct{}{}
		}
		return
	}
}

// commit sends the next commit when it is time and the one before is acknowledged.
func (l *loop) commit(ctx context.Context) error {
	if l.waiting {
		select {
		case err := <-l.replies:
			l.waiting = false
			if err != nil {
				return err
			}
		default:
			return nil
		}
	}
	if time.Since(l.committed) < commitEvery {
		return nil
	}
	l.committed = time.Now()
	l.waiting = true
	// Everything polled is handled, so that is what may be committed.
	l.client.CommitOffsets(ctx, l.client.UncommittedOffsets(), l.acknowledge)
	return nil
}

func (l *loop) acknowledge(
	_ *kgo.Client, _ *kmsg.OffsetCommitRequest, reply *kmsg.OffsetCommitResponse, err error,
) {
	if err == nil && reply != nil {
		for _, topic := range reply.Topics {
			for _, partition := range topic.Partitions {
				if err == nil {
					err = kerr.ErrorForCode(partition.ErrorCode)
				}
			}
		}
	}
	l.replies <- err
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: BROKERS TOPIC GROUP MESSAGES")
		os.Exit(2)
	}
	messages, err := strconv.ParseInt(os.Args[4], 10, 64)
	if err == nil {
		err = run(os.Args[1], os.Args[2], os.Args[3], messages)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
