// SPDX-License-Identifier: Apache-2.0
// For Go 1.19 (Debian 12) to 1.25; scripts/bench_peers chooses.
module oncemq/bench/peers/franz-go

go 1.19

require (
	github.com/twmb/franz-go v1.16.1
	github.com/twmb/franz-go/pkg/kmsg v1.7.0
)

require (
	github.com/klauspost/compress v1.17.4 // indirect
	github.com/pierrec/lz4/v4 v4.1.19 // indirect
)
