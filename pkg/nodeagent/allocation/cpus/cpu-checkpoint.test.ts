import t from 'tap';
import { type ContainerRef, cpuCheckpoint, readCPUCheckpoint } from '#nodeagent/allocation/cpus/cpu-checkpoint.js';
import { formatCPUs, parseCPUs } from '#nodeagent/allocation/cpus/cpu-set.js';
import { CPUState } from '#nodeagent/allocation/cpus/cpu-state.js';

/** As release 1.24 writes them. */
const none = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}';
const assigned =
  '{"policyName":"static","defaultCpuSet":"0,3-7","entries":{"uid-a":{"x":"8"},"uid-b":{"init":"1","main":"1-2"}},"checksum":2839463794}';
const firstVersion =
  '{"policyName":"static","defaultCpuSet":"0,3-7","entries":{"c1":"8","c2":"1-2"},"checksum":209470563}';

const noRefs = () => Promise.resolve(new Map<string, ContainerRef>());

t.test("1.24's files are read, and written to the letter", async (t) => {
  for (const [policy, text] of [
    ['none', none],
    ['static', assigned],
  ] as const) {
    t.equal(cpuCheckpoint(policy, await readCPUCheckpoint(text, policy, noRefs)), text, policy);
  }
  const state = new CPUState(parseCPUs('0-8'));
  state.share(parseCPUs('0-8'));
  state.assign('uid-b', 'main', parseCPUs('1-2'));
  state.assign('uid-b', 'init', parseCPUs('1'));
  state.assign('uid-a', 'x', parseCPUs('8'));
  t.equal(cpuCheckpoint('static', state), assigned, 'whatever the order of assignments');
  const without = assigned.replace(/"checksum":\d+/, '"checksum":0');
  t.equal(formatCPUs((await readCPUCheckpoint(without, 'static', noRefs)).shared), '0,3-7', 'without a checksum');
});

t.test('files of the first version are migrated', async (t) => {
  const refs = () =>
    Promise.resolve(
      new Map([
        ['c1', { uid: 'uid-a', name: 'x' }],
        ['c2', { uid: 'uid-b', name: 'main' }],
      ]),
    );
  const state = await readCPUCheckpoint(firstVersion, 'static', refs);
  t.equal(formatCPUs(state.of('uid-b', 'main') ?? new Set()), '1-2');
  const old = await readCPUCheckpoint(firstVersion.replace('209470563', '0'), 'static', refs);
  t.equal(formatCPUs(old.of('uid-a', 'x') ?? new Set()), '8', 'older ones have no checksum');
  const problem = "containerID 'c1' not found in initial containers list";
  const message = `error migrating v1 checkpoint state to v2 checkpoint state: ${problem}`;
  await t.rejects(readCPUCheckpoint(firstVersion, 'static', noRefs), { message });
  const damaged = readCPUCheckpoint(firstVersion.replace('209470563', '1'), 'static', refs);
  await t.rejects(damaged, Error, 'a changed checksum');
});

t.test('damaged files and those of another policy are refused', async (t) => {
  const rows: [string, string, string][] = [
    ['a changed set', assigned.replace('"8"', '"9"'), 'checkpoint is corrupted'],
    ['a changed checksum', none.replace('1353318690', '1'), 'checkpoint is corrupted'],
    ['no JSON', '{', ''],
    ['an empty file', '', 'unexpected end of JSON input'],
    ['a list', '[]', 'json: cannot unmarshal array into Go struct field checkpoint'],
    ['another policy', none, 'configured policy "static" differs from state checkpoint policy "none"'],
    [
      'a wrong shared set',
      '{"policyName":"static","defaultCpuSet":"1-x","checksum":0}',
      'could not parse default cpu set "1-x": strconv.Atoi: parsing "x": invalid syntax',
    ],
    [
      'a wrong set of a container',
      '{"policyName":"static","defaultCpuSet":"1","entries":{"u":{"c":"2-1"}},"checksum":0}',
      'could not parse cpuset "2-1" for container "c" in pod "u": invalid range "2-1" (2 >= 1)',
    ],
    [
      'a set that is no text',
      '{"policyName":"static","defaultCpuSet":"1","entries":{"u":{"c":5}},"checksum":0}',
      'json: cannot unmarshal number into Go struct field CPUManagerCheckpoint.entries of type string',
    ],
  ];
  for (const [name, text, message] of rows) {
    await t.rejects(readCPUCheckpoint(text, 'static', noRefs), message === '' ? Error : { message }, name);
  }
});
