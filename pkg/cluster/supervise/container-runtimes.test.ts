import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { hostNetworks } from '#cluster/machine/network.js';
import { cgroupDriverOf, removeStaleBridges } from '#cluster/supervise/container-runtimes.js';
import { staleBridges } from '#containerd/bridges.js';
import { containerdPaths } from '#containerd/containerd.js';
import { skipWithoutContainers } from '#containerd/testing/containerd-fixture.js';

const run = promisify(execFile);
const skip = await skipWithoutContainers();

/** The start of a range that no link of this machine has: `10.x.y.`. */
async function freePrefix(): Promise<string> {
  const networks = await hostNetworks();
  for (;;) {
    const prefix = `10.${200 + Math.floor(Math.random() * 40)}.${Math.floor(Math.random() * 256)}.`;
    if (!networks.some(({ address }) => address.startsWith(prefix))) return prefix;
  }
}

t.test('bridges of killed runs are detected and removed', { skip }, async (t) => {
  const prefix = await freePrefix();
  const own = await mkdtemp(join(tmpdir(), 'rt-'));
  t.teardown(() => rm(own, { recursive: true }));
  const other = `cni${Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')}`;
  const foreign = `tb${Math.floor(Math.random() * 2 ** 32).toString(16)}`;
  const { bridge } = containerdPaths(own);
  // Its own bridge has an address of a former range.
  for (const [name, address] of [
    [bridge, '192.0.2.1/24'],
    [other, `${prefix}1/24`],
    [foreign, `${prefix}2/24`],
  ] as const) {
    await run('ip', ['link', 'add', name, 'type', 'bridge']);
    t.teardown(() => run('ip', ['link', 'delete', name]).catch(() => undefined));
    await run('ip', ['address', 'add', address, 'dev', name]);
  }
  t.notOk(networkInterfaces()[other], 'it is down');
  t.ok((await hostNetworks()).some(({ link, address }) => link === other && address === `${prefix}1`));
  const dead = (await staleBridges()).map(({ name }) => name);
  t.ok(dead.includes(other) && dead.includes(bridge));
  t.notOk(dead.includes(foreign), 'a foreign bridge');
  t.same((await removeStaleBridges(own, `${prefix}0/24`)).sort(), [bridge, other].sort());
  t.same(await removeStaleBridges(own, `${prefix}0/24`), []);
  t.match((await run('ip', ['-o', 'link'])).stdout, foreign);
});

t.test('containerd has the cgroup driver of the node agent', async (t) => {
  const driver = cgroupDriverOf;
  t.equal(driver([]), 'cgroupfs', 'without options');
  t.equal(driver(['v=2', 'cgroup-driver=systemd']), 'systemd', 'as the option says');
  t.equal(driver(['--cgroup-driver=systemd']), 'systemd', 'written with dashes');
  t.equal(driver(['cgroup-driver=systemd', 'cgroup-driver=cgroupfs']), 'cgroupfs', 'as the last of two says');
});
