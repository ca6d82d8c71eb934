import t from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { aborted } from '#apimachinery/async/abort.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { LeaseLock } from '#client/leaderelection/lock.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { ElectableLeadership } from '#cluster/supervise/electable-leadership.js';
import { silentLogger } from '#daemon/log/logger.js';

t.test(
  'a single server acquires the lock while its work continues, and ends the work when it loses the lock',
  async (t) => {
    const clock = new VirtualClock();
    const api = new FakeApi({ dialect: orchDialect, clock, resources: [leases] });
    const { client } = api;
    const candidate = () =>
      new ElectableLeadership({
        lock: new LeaseLock({ client, namespace: 'orch-system', name: 'loops' }),
        ...{ clock, random: () => 0, log: silentLogger, name: 'loops' },
      });
    const stop = new AbortController();
    const works: string[] = [];
    const work = (name: string) => async (signal: AbortSignal) => {
      works.push(`${name} begins`);
      await aborted(signal);
      works.push(`${name} ends`);
    };
    const first = candidate();
    t.ok(first.leadsAtOnce);
    const leading = first.lead(work('a'), stop.signal);
    t.same(works, ['a begins'], 'without a lock');
    t.same(first.fence(), {}, 'its writes have no fence');
    await first.elect('a');
    t.same(works, ['a begins'], 'the same work continues');
    t.match(Object.values(first.fence())[0], /a/, 'its writes have the fence of its term');

    const second = candidate();
    const electing = second.elect('b');
    t.notOk(second.leadsAtOnce);
    const standingBy = second.lead(work('b'), stop.signal);
    await clock.advance(30_000);
    t.same(works, ['a begins'], 'the other server does not work');
    await api.client.resource(leases).delete('loops', { namespace: 'orch-system' });
    await electing.catch(() => undefined);
    await clock.advance(30_000);
    t.equal(
      works.filter((what) => what.endsWith('begins')).length - works.filter((what) => what.endsWith('ends')).length,
      1,
    );
    stop.abort();
    await Promise.all([leading, standingBy]);
    t.equal(
      works.filter((what) => what.endsWith('begins')).length,
      works.filter((what) => what.endsWith('ends')).length,
    );
  },
);
