import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { readTopology } from '#nodeagent/node/topology.js';

/** Writes files below a temporary folder that stands for /sys. */
async function machine(t: Test, files: Readonly<Record<string, string>>): Promise<string> {
  const root = t.testdir({});
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, 'devices/system', path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `${text}\n`);
  }
  return root;
}

/** The topology files of a processor, below a folder. */
function processor(folder: string, id: number, core: number, socket: number): Record<string, string> {
  const at = `${folder}/cpu${id}/topology`;
  return { [`${at}/core_id`]: String(core), [`${at}/physical_package_id`]: String(socket) };
}

t.test('NUMA nodes with threads, offline processors, memory and huge pages', async (t) => {
  const root = await machine(t, {
    'cpu/online': '0-2,4-5',
    ...processor('node/node0', 0, 0, 0),
    ...processor('node/node0', 4, 0, 0),
    ...processor('node/node0', 1, 1, 0),
    'node/node0/meminfo': 'Node 0 MemTotal:       1024 kB\nNode 0 MemFree:  1 kB',
    'node/node0/hugepages/hugepages-2048kB/nr_hugepages': '3',
    ...processor('node/node10', 2, 0, 1),
    ...processor('node/node10', 3, 0, 1),
    ...processor('node/node10', 5, 0, 1),
    'node/node2/meminfo': 'Node 2 MemTotal: 2 kB',
  });
  t.same(await readTopology(root), {
    nodes: [
      {
        id: 0,
        memoryBytes: 2 ** 20,
        hugePages: { [2 ** 21]: 3 * 2 ** 21 },
        cores: [
          { socket: 0, cpus: [0, 4] },
          { socket: 0, cpus: [1] },
        ],
      },
      { id: 2, memoryBytes: 2048, hugePages: {}, cores: [] },
      { id: 10, memoryBytes: 0, hugePages: {}, cores: [{ socket: 1, cpus: [2, 5] }] },
    ],
  });
});

t.test('without NUMA, each socket is a node', async (t) => {
  const root = await machine(t, {
    ...processor('cpu', 0, 0, 0),
    ...processor('cpu', 1, 0, 1),
    ...processor('cpu', 2, 0, -1),
    'cpu/cpufreq/x': '',
    // A processor that does not tell its place.
    'cpu/cpu3/online': '1',
  });
  const { nodes } = await readTopology(root);
  t.same(
    nodes.map(({ id, cores }) => [id, cores]),
    [
      [
        0,
        [
          { socket: 0, cpus: [0] },
          { socket: 0, cpus: [2] },
        ],
      ],
      [1, [{ socket: 1, cpus: [1] }]],
    ],
  );
});

t.test('this machine', async (t) => {
  const { nodes } = await readTopology();
  t.ok(nodes.flatMap(({ cores }) => cores.flatMap(({ cpus }) => cpus)).length > 0, 'has processors');
  t.same(await readTopology(t.testdir({})), { nodes: [] }, 'a machine without /sys has none');
});
