import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { cpuProfile, heapProfile } from '#daemon/debugging/inspector-profiles.js';
import { encodeProfile } from '#daemon/debugging/pprof.js';
import { InspectorProfilerSource, ProfilerBusyError } from '#daemon/debugging/profiler.js';

type Numeric = number | bigint;

function decode(bytes: Buffer) {
  const profile = Profile.decode(gunzipSync(bytes));
  const { location, function: functions, sample, sampleType, timeNanos, durationNanos } = profile;
  const text = (id: Numeric | undefined) => profile.stringTable.strings[Number(id ?? -1)] ?? '?';
  const name = (locationID: Numeric) => {
    const line = location.find(({ id }) => id === locationID)?.line[0];
    const frameFunction = functions.find(({ id }) => id === line?.functionId);
    return `${text(frameFunction?.name)}@${text(frameFunction?.filename)}:${line?.line}`;
  };
  return {
    types: sampleType.map(({ type, unit }) => `${text(type)}/${text(unit)}`),
    stacks: Object.fromEntries(
      sample.map(({ locationId, value }) => [locationId.map(name).join('<'), value.map(Number)]),
    ),
    timeNanos: `${timeNanos}`,
    durationNanos: `${durationNanos}`,
  };
}

const call = (functionName: string, lineNumber: number) => ({
  functionName,
  scriptId: '1',
  url: functionName.startsWith('(') ? '' : 'file:///app/x.js',
  lineNumber,
  columnNumber: 0,
});

t.test('converts a CPU profile', async (t) => {
  const profile = {
    nodes: [
      { id: 1, callFrame: call('(root)', -1), children: [2, 3, 5] },
      { id: 2, callFrame: call('(idle)', -1) },
      { id: 3, callFrame: call('outer', 9), children: [4] },
      { id: 4, callFrame: call('', 19) },
      { id: 5, callFrame: call('(program)', -1) },
    ],
    startTime: 0,
    endTime: 9000,
    samples: [2, 4, 4, 3, 5],
    timeDeltas: [500, 1000, 1100, 1200, 1300],
  };
  const timing = { timeMs: 1_651_536_000_123, durationMs: 9, interval: 1000 };
  const decoded = decode(encodeProfile(cpuProfile(profile, timing)));
  t.same(decoded, {
    types: ['samples/count', 'cpu/nanoseconds'],
    stacks: {
      '(anonymous)@/app/x.js:20<outer@/app/x.js:10': [2, 2_300_000],
      'outer@/app/x.js:10': [1, 1_300_000],
      '(program)@:0': [1, 1_000_000],
    },
    timeNanos: '1651536000114000000',
    durationNanos: '9000000',
  });
});

t.test('converts a heap profile', async (t) => {
  const inner = { id: 3, callFrame: call('inner', 4), selfSize: 300, children: [] };
  const profile = {
    head: {
      id: 1,
      callFrame: call('(root)', -1),
      selfSize: 0,
      children: [{ id: 2, callFrame: call('outer', 1), selfSize: 100, children: [inner] }],
    },
    samples: [{ nodeId: 3 }, { nodeId: 3 }, { nodeId: 2 }],
  };
  const timing = { timeMs: 1000, durationMs: 10, interval: 512 };
  for (const kind of ['inuse', 'alloc'] as const) {
    const decoded = decode(encodeProfile(heapProfile(profile, timing, kind)));
    t.same(decoded.types, [`${kind}_objects/count`, `${kind}_space/bytes`]);
    t.same(decoded.stacks, {
      'inner@/app/x.js:5<outer@/app/x.js:2': [2, 300],
      'outer@/app/x.js:2': [1, 100],
    });
  }
});

function burnMilliseconds(ms: number): number {
  const end = performance.now() + ms;
  let sum = 0;
  while (performance.now() < end) sum += Math.sqrt(sum + 1);
  return sum;
}

t.test('profiles this process', async (t) => {
  const profiler = new InspectorProfilerSource({ clock: realClock });
  const stop = new AbortController();
  const taking = profiler.cpu(60_000, stop.signal);
  await t.rejects(profiler.heap(1, stop.signal), ProfilerBusyError);
  // The sampler starts between two turns of the loop.
  await new Promise((resolve) => setImmediate(resolve));
  t.ok(burnMilliseconds(100));
  stop.abort();
  const decoded = decode(await taking);
  t.match(Object.keys(decoded.stacks).join('\n'), /burnMilliseconds@\/.*pprof\.test\.js:\d+/);
  const kept: number[][] = [];
  const again = new AbortController();
  const heap = profiler.heap(60_000, again.signal);
  await new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 100; i++) kept.push(new Array<number>(10_000).fill(i));
  again.abort();
  t.ok(Object.keys(decode(await heap).stacks).length > 0);
  t.equal(kept.length, 100);
  const short = decode(await profiler.allocations(1, new AbortController().signal));
  t.same(short.types, ['alloc_objects/count', 'alloc_space/bytes']);
});
