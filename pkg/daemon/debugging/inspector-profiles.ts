/** Converts profiles of the runtime's inspector to pprof. Pure. */
import type { Profiler } from 'node:inspector';
import type { Frame, PprofProfile, Sample } from '#daemon/debugging/pprof.js';

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** HeapProfiler.SamplingHeapProfile of the protocol; Node.js's types lack its samples. */
export interface SamplingHeapProfile {
  readonly head: SamplingHeapNode;
  readonly samples: readonly { readonly nodeId: number }[];
}

export interface SamplingHeapNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  /** Bytes. */
  readonly selfSize: number;
  readonly children: readonly SamplingHeapNode[];
}

interface Timing {
  /** End of the profile; ms since the epoch. */
  readonly timeMs: number;
  readonly durationMs: number;
  /** µs between samples of a CPU profile, bytes between those of a heap profile. */
  readonly interval: number;
}

const frameOf = ({ functionName, url, lineNumber }: CallFrame): Frame => ({
  name: functionName,
  file: url.replace(/^file:\/\//, ''),
  line: lineNumber + 1,
});

/** The root is not a function, and nothing runs while idle. */
const notCode = new Set(['(root)', '(idle)']);

export function cpuProfile(profile: Profiler.Profile, timing: Timing): PprofProfile {
  const parents = new Map<number, number>();
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  for (const node of profile.nodes) for (const child of node.children ?? []) parents.set(child, node.id);
  const totals = new Map<number, { count: number; micros: number }>();
  const { samples = [], timeDeltas = [] } = profile;
  for (const [i, id] of samples.entries()) {
    const total = totals.get(id) ?? { count: 0, micros: 0 };
    total.count += 1;
    // The time until the next sample belongs to this one.
    total.micros += Math.max(0, timeDeltas[i + 1] ?? timing.interval);
    totals.set(id, total);
  }
  const stackOf = (id: number): Frame[] => {
    const stack: Frame[] = [];
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const node = nodes.get(at);
      if (node !== undefined && !notCode.has(node.callFrame.functionName)) stack.push(frameOf(node.callFrame));
    }
    return stack;
  };
  return {
    sampleTypes: [
      { type: 'samples', unit: 'count' },
      { type: 'cpu', unit: 'nanoseconds' },
    ],
    samples: [...totals].flatMap(([id, { count, micros }]) => {
      const stack = stackOf(id);
      return stack.length === 0 ? [] : [{ stack, values: [count, micros * 1000] }];
    }),
    periodType: { type: 'cpu', unit: 'nanoseconds' },
    period: timing.interval * 1000,
    timeMs: timing.timeMs,
    durationMs: timing.durationMs,
  };
}

export function heapProfile(profile: SamplingHeapProfile, timing: Timing, kind: 'inuse' | 'alloc'): PprofProfile {
  const samples: Sample[] = [];
  const counts = new Map<number, number>();
  for (const { nodeId } of profile.samples) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1);
  // A loop instead of recursion: stacks may be deep.
  const waiting: { node: SamplingHeapNode; above: readonly Frame[] }[] = [{ node: profile.head, above: [] }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, above } = next;
    const stack = notCode.has(node.callFrame.functionName) ? above : [frameOf(node.callFrame), ...above];
    if (node.selfSize > 0) samples.push({ stack, values: [counts.get(node.id) ?? 1, Math.round(node.selfSize)] });
    for (const child of node.children) waiting.push({ node: child, above: stack });
  }
  return {
    sampleTypes: [
      { type: `${kind}_objects`, unit: 'count' },
      { type: `${kind}_space`, unit: 'bytes' },
    ],
    samples,
    periodType: { type: 'space', unit: 'bytes' },
    period: timing.interval,
    timeMs: timing.timeMs,
    durationMs: timing.durationMs,
  };
}
