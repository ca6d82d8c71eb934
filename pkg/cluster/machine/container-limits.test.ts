import t from 'tap';
import { limitsIn, reservedBeyond } from '#cluster/machine/container-limits.js';

t.test('the limits of a cgroup are parsed', (t) => {
  const one = (quota: string, memory: string) =>
    limitsIn(
      {
        'cpu/cpu.cfs_quota_us': `${quota}\n`,
        'cpu/cpu.cfs_period_us': '100000\n',
        'memory/memory.limit_in_bytes': `${memory}\n`,
      },
      1,
    );
  t.same(one('150000', '1073741824'), { milliCpus: 1500, memoryBytes: 1073741824 });
  t.same(one('-1', '9007199254740992'), { memoryBytes: 2 ** 53 }, 'a very large number means no limit');
  t.same(limitsIn({ 'cpu.max': '50000 100000\n', 'memory.max': '268435456\n' }, 2), {
    ...{ milliCpus: 500, memoryBytes: 268435456 },
  });
  t.same(limitsIn({ 'cpu.max': 'max 100000\n', 'memory.max': 'max\n' }, 2), {});
  t.same(limitsIn({}, 2), {}, 'the root cgroup has no such files');
  t.end();
});

t.test('resources beyond the limits are reserved', (t) => {
  const machine = { milliCpus: 4000, memoryBytes: 8 * 1024 ** 3 };
  t.equal(reservedBeyond(machine, {}), undefined);
  t.equal(reservedBeyond(machine, { milliCpus: 1500 }), 'cpu=2500m');
  t.equal(reservedBeyond(machine, { memoryBytes: 2 * 1024 ** 3 }), `memory=${6.25 * 1024 ** 3}`);
  t.equal(reservedBeyond(machine, { milliCpus: 9000, memoryBytes: 2 ** 63 }), undefined, 'limits beyond the machine');
  t.equal(reservedBeyond(machine, { memoryBytes: 1024 ** 2 }), `memory=${8 * 1024 ** 3}`, 'no memory is left for pods');
  t.end();
});
