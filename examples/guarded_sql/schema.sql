-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE IF NOT EXISTS payments (
  id      text PRIMARY KEY,  -- the header message-id
  account text NOT NULL,
  cents   bigint NOT NULL CHECK (cents > 0)
);
