import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { StartupChecks } from '#apiserver/build/startup-checks.js';
import type { HealthEndpoint } from '#apiserver/discovery/health.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';

const graceMs = 30_000;

for (const dialect of [orchDialect, kubernetesDialect]) {
  t.test(`${dialect.name}: /livez takes steps for done until the grace period ends`, async (t) => {
    const clock = new VirtualClock();
    const startup = new StartupChecks(clock, graceMs);
    const checks = startup.checks(dialect, () => false);
    const passes = async (endpoint: HealthEndpoint) => {
      const results = await Promise.allSettled(
        checks
          .filter(({ endpoints }) => endpoints.includes(endpoint))
          .map((check) => check.check(new AbortController().signal)),
      );
      return results.every(({ status }) => status === 'fulfilled');
    };
    const all = async () => [await passes('livez'), await passes('readyz'), await passes('healthz')];
    t.same(await all(), [true, false, false], 'at the start');
    await clock.advance(graceMs - 1);
    t.same(await all(), [true, false, false], 'just before its end');
    await clock.advance(1);
    t.same(await all(), [false, false, false], 'at its end');
    startup.done('filled', 'definitions', 'defaults', 'authentication', 'service', 'registered');
    t.same(await all(), [true, true, true], 'when all is done');
  });
}

t.test('every check is at every endpoint once', async (t) => {
  const checks = new StartupChecks(new VirtualClock(), 0).checks(orchDialect, () => false);
  for (const endpoint of ['healthz', 'livez', 'readyz'] as const) {
    const names = checks.filter(({ endpoints }) => endpoints.includes(endpoint)).map(({ name }) => name);
    t.equal(new Set(names).size, names.length);
    t.ok(names.includes('autoregister-completion'), endpoint);
  }
});
