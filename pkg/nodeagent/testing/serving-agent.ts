import { type Clock, realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { FakeApi } from '#client/testing/fake-api.js';
import type { DebugEndpoints } from '#daemon/debugging/debug-endpoints.js';
import { silentLogger } from '#daemon/log/logger.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { standardServer } from '#nodeagent/server/standard-server.js';
import {
  type AgentFixture,
  newSimulatedRuntime,
  nodeName,
  startAgent,
  testResources,
} from '#nodeagent/testing/agent-fixture.js';

export interface ServingAgentOptions {
  readonly clock?: Clock;
  readonly debug?: DebugEndpoints;
  readonly isPortOnlyPreferred?: boolean;
}

/** A ready agent that serves on a loopback port, on the fake API and the simulated runtime; call its `stop`. */
export async function startServingAgent(
  args: readonly string[] = [],
  { clock = realClock, ...options }: ServingAgentOptions = {},
): Promise<AgentFixture> {
  const dialect = orchDialect;
  const api = new FakeApi({ dialect, clock: realClock, resources: testResources });
  const metrics = createRegistry({ dialect });
  const server = standardServer({
    client: api.client,
    dialect,
    clock: realClock,
    random: Math.random,
    log: silentLogger,
    nodeName,
    metrics,
    ...options,
  });
  const fixture = startAgent({
    api,
    clock,
    runtime: newSimulatedRuntime(),
    args: ['--port=0', '--read-only-port=0', '--address=127.0.0.1', '--cert-dir=', ...args],
    dependencies: { server, metrics },
  });
  await fixture.agent.ready();
  return fixture;
}
