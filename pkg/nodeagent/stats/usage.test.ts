import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { parseHostUsage } from '#nodeagent/node/host-usage.js';
import { parseNetworkTable } from '#nodeagent/node/network-usage.js';
import { CgroupReader } from '#nodeagent/stats/cgroup-usage.js';

/** A folder with these files. */
async function folder(t: Test, files: Readonly<Record<string, string>>): Promise<string> {
  const mountPoint = await mkdtemp(join(tmpdir(), 'orch-cgroups-'));
  t.teardown(() => rm(mountPoint, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(mountPoint, path)), { recursive: true });
    await writeFile(join(mountPoint, path), text);
  }
  return mountPoint;
}

t.test('cgroups of version 1', async (t) => {
  const mountPoint = await folder(t, {
    'cpuacct/p/cpuacct.usage': '2500000000\n',
    'cpuacct/p/cpuacct.stat': 'user 150\nsystem 100\n',
    'cpu/p/cpu.stat': 'nr_periods 10\nnr_throttled 3\nthrottled_time 500000000\n',
    'cpu/p/cpu.shares': '512\n',
    'cpu/p/cpu.cfs_quota_us': '50000\n',
    'cpu/p/cpu.cfs_period_us': '100000\n',
    'memory/p/memory.usage_in_bytes': '5000\n',
    'memory/p/memory.max_usage_in_bytes': '6000\n',
    'memory/p/memory.failcnt': '7\n',
    'memory/p/memory.limit_in_bytes': '9223372036854771712\n',
    'memory/p/memory.stat': 'cache 1\ntotal_cache 1000\ntotal_rss 2000\ntotal_inactive_file 600\ntotal_pgfault 9\n',
    'memory/p/cgroup.procs': '41\n42\n',
    'pids/p/pids.current': '2\n',
  });
  const reader = new CgroupReader({ mountPoint, version: 1 });
  t.match(await reader.usage('/p'), {
    cpu: {
      totalSeconds: 2.5,
      userSeconds: 1.5,
      systemSeconds: 1,
      periods: 10,
      throttledPeriods: 3,
      throttledSeconds: 0.5,
    },
    memory: {
      usageBytes: 5000,
      workingSetBytes: 4400,
      rssBytes: 2000,
      cacheBytes: 1000,
      maxUsageBytes: 6000,
      failures: 7,
    },
    limits: { memoryBytes: undefined, cpuShares: 512, cpuQuotaMicros: 50000, cpuPeriodMicros: 100000 },
    processes: 2,
  });
  t.equal(await reader.process('/p'), 41);
  t.equal(await reader.usage('/gone'), undefined);
  t.equal(await reader.process('/gone'), undefined);
});

t.test('cgroups of version 2', async (t) => {
  const mountPoint = await folder(t, {
    'p/cpu.stat': 'usage_usec 2500000\nuser_usec 1500000\nsystem_usec 1000000\nnr_throttled 3\nthrottled_usec 500000\n',
    'p/cpu.max': 'max 100000\n',
    'p/cpu.weight': '20\n',
    'p/memory.current': '5000\n',
    'p/memory.max': 'max\n',
    'p/memory.events': 'low 0\nmax 7\n',
    'p/memory.stat': 'anon 2000\nfile 1000\ninactive_file 600\npgfault 9\npgmajfault 1\n',
    'p/pids.current': '2\n',
    'p/cgroup.procs': '',
  });
  const reader = new CgroupReader({ mountPoint, version: 2 });
  t.match(await reader.usage('/p'), {
    cpu: { totalSeconds: 2.5, userSeconds: 1.5, systemSeconds: 1, throttledPeriods: 3, throttledSeconds: 0.5 },
    memory: { usageBytes: 5000, workingSetBytes: 4400, rssBytes: 2000, failures: 7, majorPageFaults: 1 },
    limits: { memoryBytes: undefined, cpuShares: 500, cpuQuotaMicros: undefined, cpuPeriodMicros: 100000 },
    processes: 2,
  });
  t.equal(await reader.process('/p'), undefined);
});

t.test('the network and the machine', (t) => {
  const table = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      100       1    0    0    0     0       0          0
  eth0: 1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0
 veth1:     1       1    0    0    0     0          0         0        1       1    0    0    0     0       0          0
`;
  t.same(parseNetworkTable(table), [
    {
      name: 'eth0',
      received: { bytes: 1000, packets: 10, errors: 1, dropped: 2 },
      transmitted: { bytes: 2000, packets: 20, errors: 3, dropped: 4 },
    },
  ]);
  const cpus = [0, 1, 0, 1].map((core, i) => `processor\t: ${i}\nphysical id\t: 0\ncore id\t\t: ${core}\n`).join('\n');
  t.same(parseHostUsage('cpu  100 50 200 9999 7 3 2 0 0 0\ncpu0 1 1\n', 'MemTotal: 9 kB\nSwapTotal:  2 kB\n', cpus), {
    cpuSeconds: 3.55,
    userSeconds: 1.5,
    systemSeconds: 2.05,
    swapBytes: 2048,
    memoryUsedBytes: 9216,
    anonymousBytes: 0,
    physicalCores: 2,
    sockets: 1,
  });
  t.end();
});
