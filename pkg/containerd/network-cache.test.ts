import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { removeResults, resultsOf } from '#containerd/network-cache.js';

const id = (digit: string) => digit.repeat(64);
const own = [`cni1-${id('a')}-eth0`, `cni-loopback-${id('a')}-lo`, `cni1-${id('b')}-eth0`];
const foreign = [`cni12-${id('c')}-eth0`, `cni-loopback-${id('c')}-lo`, 'cni1-notes', 'other'];

t.test('only the files of the network are removed', async (t) => {
  t.same(resultsOf([...foreign, ...own], 'cni1').sort(), [...own].sort(), 'with the loopback of its sandboxes');
  t.same(resultsOf(foreign, 'cni1'), [], 'none of others');
  const folder = join(t.testdir(), 'cni', 'results');
  await removeResults('cni1', folder);
  t.notOk(existsSync(folder), 'nothing happens without a folder');
  mkdirSync(folder, { recursive: true });
  for (const name of [...own, ...foreign]) writeFileSync(join(folder, name), '');
  await removeResults('cni1', folder);
  t.same(readdirSync(folder).sort(), [...foreign].sort(), 'those of others stay');
});

t.test('empty folders are removed, too', async (t) => {
  const parent = join(t.testdir(), 'cni');
  const folder = join(parent, 'results');
  mkdirSync(folder, { recursive: true });
  for (const name of own) writeFileSync(join(folder, name), '');
  await removeResults('cni1', folder);
  t.notOk(existsSync(parent), 'as before the first sandbox');
});
