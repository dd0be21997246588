-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE IF NOT EXISTS accounts (
  name    text PRIMARY KEY,
  balance numeric(12, 2) NOT NULL CHECK (balance >= 0)
);
