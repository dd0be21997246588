-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE IF NOT EXISTS orders (
  ref      text PRIMARY KEY,  -- of the operation, from its ticket
  customer text NOT NULL,
  item     jsonb NOT NULL
);
