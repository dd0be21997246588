#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sends 20 payments a second for docker/compose.yml: each tenth twice, and each 500th a debit that
# the table of examples/atomic_sql refuses.
set -euo pipefail

payments() {
  local run n account amount line tab=$'\t'
  run=$(date +%s)
  for ((n = 1; ; n++)); do
    account=account-$((n % 97)) amount=12.50
    ((n % 500 != 0)) || account=empty-$run-$n amount=-1.00
    line="message-id:pay-$run-$n$tab$account$tab{\"account\":\"$account\",\"amount\":\"$amount\"}"
    echo "$line"
    ((n % 10 != 0)) || echo "$line"
    sleep 0.05
  done
}

payments | /opt/kafka/bin/kafka-console-producer.sh --bootstrap-server kafka:9092 \
  --topic payments --property parse.headers=true --property parse.key=true
