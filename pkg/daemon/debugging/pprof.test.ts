import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import t from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { cpuProfile, heapProfile } from '#daemon/debugging/inspector-profiles.js';
import { encodeProfile } from '#daemon/debugging/pprof.js';
import { InspectorProfilerSource, ProfilerBusyError } from '#daemon/debugging/profiler.js';

/** The written parts of github.com/google/pprof's profile.proto. */
const { root } = protobuf.parse(`syntax = "proto3";
message Profile {
  repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Location location = 4;
  repeated Function function = 5; repeated string string_table = 6; int64 time_nanos = 9; int64 duration_nanos = 10;
  ValueType period_type = 11; int64 period = 12;
}
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; }
message Line { uint64 function_id = 1; int64 line = 2; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }`);
const Profile = root.lookupType('Profile');

interface Decoded {
  types: string[];
  stacks: Record<string, number[]>;
  durationNanos: string;
  timeNanos: string;
}

interface Raw {
  stringTable: string[];
  sampleType: { type: number; unit: number }[];
  sample: { locationId: number[]; value: number[] }[];
  location: { id: number; line: { functionId: number; line: number }[] }[];
  function: { id: number; name: number; filename: number }[];
  timeNanos: string;
  durationNanos: string;
}

function decode(bytes: Buffer): Decoded {
  const message = Profile.decode(gunzipSync(bytes));
  const raw = Profile.toObject(message, { longs: Number, arrays: true, defaults: true }) as unknown as Raw;
  const exact = Profile.toObject(message, { longs: String, defaults: true }) as unknown as Raw;
  const text = (id: number) => raw.stringTable[id] ?? '?';
  const name = (location: number) => {
    const line = raw.location.find(({ id }) => id === location)?.line[0];
    const frameFunction = raw.function.find(({ id }) => id === line?.functionId);
    return `${text(frameFunction?.name ?? -1)}@${text(frameFunction?.filename ?? -1)}:${line?.line}`;
  };
  return {
    types: raw.sampleType.map(({ type, unit }) => `${text(type)}/${text(unit)}`),
    stacks: Object.fromEntries(raw.sample.map(({ locationId, value }) => [locationId.map(name).join('<'), value])),
    timeNanos: exact.timeNanos,
    durationNanos: exact.durationNanos,
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
