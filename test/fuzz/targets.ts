import type { FuzzTarget } from '#test/fuzz/target.js';
import { access } from '#test/fuzz/targets/access.js';
import { agentAccess } from '#test/fuzz/targets/agent-access.js';
import { json, protobuf } from '#test/fuzz/targets/codecs.js';
import { cost } from '#test/fuzz/targets/cost.js';
import { dns } from '#test/fuzz/targets/dns.js';
import { http2, http2Server } from '#test/fuzz/targets/http2.js';
import { schemas } from '#test/fuzz/targets/schemas.js';
import { spdy } from '#test/fuzz/targets/spdy.js';

/** All that is fuzzed, in the order in which it runs. */
export const targets: readonly FuzzTarget[] = [
  protobuf,
  json,
  spdy,
  access,
  agentAccess,
  cost,
  http2,
  http2Server,
  dns,
  schemas,
];
