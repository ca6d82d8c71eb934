import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { parseDisks, parseHostUsage } from '#nodeagent/node/host-usage.js';
import { parseNetworkTable } from '#nodeagent/node/network-usage.js';
import { CgroupReader } from '#nodeagent/stats/cgroup-usage.js';
import { parseOwnCgroup } from '#nodeagent/stats/collector.js';
import { LoadAverages, openFiles, taskStates } from '#nodeagent/stats/process-stats.js';

/** Creates a directory with these files. */
async function folder(t: Test, files: Readonly<Record<string, string>>): Promise<string> {
  const mountPoint = await mkdtemp(join(tmpdir(), 'orch-cgroups-'));
  t.teardown(() => rm(mountPoint, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(mountPoint, path)), { recursive: true });
    await writeFile(join(mountPoint, path), text);
  }
  return mountPoint;
}

t.test('usage is read from cgroups of version 1', async (t) => {
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
    'memory/p/memory.stat':
      'cache 1\ntotal_cache 1000\ntotal_rss 2000\ntotal_inactive_file 600\npgfault 4\ntotal_pgfault 9\n',
    'memory/p/cgroup.procs': '41\n42\n',
    'memory/p/memory.soft_limit_in_bytes': '4096\n',
    'memory/p/memory.memsw.limit_in_bytes': '8192\n',
    'memory/p/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n',
    'pids/p/pids.current': '5\n',
    'pids/p/pids.max': '100\n',
    'blkio/p/blkio.throttle.io_service_bytes_recursive':
      '9999:1 Read 4096\n9999:1 Write 0\n9999:1 Total 4096\nTotal 4096\n',
    'blkio/p/blkio.throttle.io_serviced_recursive': '9999:1 Read 2\n9999:1 Write 0\n9999:1 Total 2\nTotal 2\n',
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
      oomKills: 3,
      pageFaults: 9,
      ownPageFaults: 4,
    },
    limits: {
      ...{ memoryBytes: undefined, cpuShares: 512, cpuQuotaMicros: 50000, cpuPeriodMicros: 100000 },
      ...{ memoryReservationBytes: 4096, memorySwapBytes: 8192 },
    },
    ...{ processes: 2, threads: 5, maxThreads: 100 },
  });
  const io = { bytes: { Read: 4096, Write: 0, Total: 4096 }, operations: { Read: 2, Write: 0, Total: 2 } };
  t.same(await reader.devices('/p'), [{ major: '9999', minor: '1', device: '', ...io }]);
  t.same(await reader.devices('/gone'), []);
  t.same(await reader.processes('/p'), [41, 42]);
  t.equal(await reader.usage('/gone'), undefined);
  t.same(await reader.processes('/gone'), []);
});

t.test('usage is read from cgroups of version 2', async (t) => {
  const mountPoint = await folder(t, {
    'p/cpu.stat': 'usage_usec 2500000\nuser_usec 1500000\nsystem_usec 1000000\nnr_throttled 3\nthrottled_usec 500000\n',
    'p/cpu.max': 'max 100000\n',
    'p/cpu.weight': '20\n',
    'p/memory.current': '5000\n',
    'p/memory.max': 'max\n',
    'p/memory.events': 'low 0\nmax 7\noom 2\noom_kill 1\n',
    'p/memory.low': '0\n',
    'p/memory.swap.max': 'max\n',
    'p/pids.max': 'max\n',
    'p/io.stat': '9999:1 rbytes=4096 wbytes=512 rios=2 wios=1 dbytes=0 dios=0\n9999:2\n',
    'p/memory.stat': 'anon 2000\nfile 1000\ninactive_file 600\npgfault 9\npgmajfault 1\n',
    'p/pids.current': '2\n',
    'p/cgroup.procs': '',
  });
  const reader = new CgroupReader({ mountPoint, version: 2 });
  t.match(await reader.usage('/p'), {
    cpu: { totalSeconds: 2.5, userSeconds: 1.5, systemSeconds: 1, throttledPeriods: 3, throttledSeconds: 0.5 },
    memory: { usageBytes: 5000, workingSetBytes: 4400, rssBytes: 2000, failures: 7, majorPageFaults: 1, oomKills: 1 },
    limits: {
      ...{ memoryBytes: undefined, cpuShares: 500, cpuQuotaMicros: undefined, cpuPeriodMicros: 100000 },
      ...{ memoryReservationBytes: 0, memorySwapBytes: undefined },
    },
    ...{ processes: 0, threads: 2, maxThreads: undefined },
  });
  const io = { bytes: { Read: 4096, Write: 512, Discard: 0 }, operations: { Read: 2, Write: 1, Discard: 0 } };
  t.same(await reader.devices('/p'), [{ major: '9999', minor: '1', device: '', ...io }]);
  t.same(await reader.processes('/p'), []);
});

t.test('usage of networks, machine and disks is parsed', (t) => {
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
  const mounts = 'rootfs / rootfs rw 0 0\n/dev/sda1 / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n';
  const diskstats =
    '   8       0 sda 1 1 1 1 1 1 1 1 1 1 1\n   8       1 sda1 1 2 3 4000 5 6 7 8000 9 10000 11000 0 0\n';
  t.same(parseDisks(mounts, diskstats), {
    rootDevice: '/dev/sda1',
    disks: [
      {
        device: '/dev/sda1',
        reads: { completed: 1, merged: 2, sectors: 3, seconds: 4 },
        writes: { completed: 5, merged: 6, sectors: 7, seconds: 8 },
        ...{ current: 9, busySeconds: 10, weightedSeconds: 11 },
      },
    ],
  });
  t.end();
});

t.test('open files of processes are counted', async (t) => {
  const proc = await folder(t, {
    '7/limits':
      'Limit Soft Limit Hard Limit Units\nMax open files            1024                 4096                 files\n',
    '8/limits': 'Max open files            unlimited            unlimited            files\n',
    '7/fd/none': '',
  });
  await symlink('socket:[12]', join(proc, '7/fd/0'));
  await symlink('/dev/null', join(proc, '7/fd/1'));
  t.same(await openFiles([7, 8, 9], proc), { descriptors: 3, sockets: 1, limit: 1024 });
  t.same(await openFiles([8], proc), { descriptors: 0, sockets: 0, limit: undefined });
  t.same(await openFiles([], proc), { descriptors: 0, sockets: 0, limit: undefined });
  const own = await openFiles([process.pid]);
  t.ok(own.descriptors > 0 && own.sockets <= own.descriptors);
});

t.test('threads are counted by state', async (t) => {
  const proc = await folder(t, {
    '7/task/7/stat': '7 (a) b) (c) S 1 7 7 0\n',
    '7/task/8/stat': '8 (main) R 1 7 7 0\n',
    '9/task/9/stat': '9 (disk) D 1 7 7 0\n',
    '9/task/10/stat': '10 (traced) t 1 7 7 0\n',
    '9/task/11/stat': '11 (ended) Z 1 7 7 0\n',
    '9/task/12/stat': '',
  });
  t.same(await taskStates([7, 8, 9], proc), { sleeping: 1, running: 1, stopped: 1, uninterruptible: 1, iowaiting: 0 });
  const own = await taskStates([process.pid]);
  t.ok(own.running + own.sleeping > 0);
});

t.test('the load average is smoothed over ten seconds', async (t) => {
  const loads = new LoadAverages();
  t.equal(loads.next('/p', 2, 0), 2000);
  t.equal(loads.next('/p', 0, 10_000), Math.floor(2000 / Math.E));
  loads.forget(20_000);
  t.ok(loads.next('/p', 3, 20_000) < 3000);
  loads.forget(10_000_000);
  t.equal(loads.next('/p', 3, 10_000_000), 3000, 'an entry unused for long restarts');
});

t.test('the cgroup of this process is parsed in both versions', (t) => {
  const first = '12:memory:/system.slice/agent.service\n5:cpu,cpuacct:/\n0::/unified\n';
  t.equal(parseOwnCgroup(first, 1), '/system.slice/agent.service');
  t.equal(parseOwnCgroup(first, 2), '/unified');
  t.equal(parseOwnCgroup('0::/\n', 2), undefined);
  t.equal(parseOwnCgroup('', 1), undefined);
  t.end();
});
