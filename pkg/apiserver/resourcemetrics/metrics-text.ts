/**
 * Parses a node agent's `/metrics/resource` in Prometheus's text format. Nodes may be compromised, so every value is validated.
 * Pure.
 */

/** One measurement of a node or of a container. */
export interface Point {
  readonly timestampMs: number;
  /** CPU time since the start. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** Start of the container; 0 if the agent does not report it. */
  readonly startedMs: number;
}

export interface Reading {
  readonly node: Point | undefined;
  /** `namespace/pod` → container → measurement. Incomplete measurements are left out. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Point>>;
}

interface PartialPoint {
  timestampMs?: number;
  cpuSeconds?: number;
  memoryBytes?: number;
  startedMs?: number;
}

const line =
  /^(node|container)_(cpu_usage_seconds_total|memory_working_set_bytes)(?:\{(.*)\})? (\S+) (\d{1,13})$|^container_(start_time_seconds)\{(.*)\} (\S+)(?: \d+)?$/;
/** Larger values are invalid. */
const most = 1e15;

/** At its place only: a search for labels takes quadratic time in a text of letters. */
const label = /([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,\s*|$)/gy;

/** Ignores other metrics and malformed lines. */
export function readingOf(text: string): Reading {
  const node: PartialPoint = {};
  const pods = new Map<string, Map<string, PartialPoint>>();
  const ofContainer = (labels: string): PartialPoint | undefined => {
    const { namespace, pod, container } = labelsIn(labels);
    if (namespace === undefined || pod === undefined || container === undefined || container === '') return undefined;
    const key = `${namespace}/${pod}`;
    const containers = pods.get(key) ?? new Map<string, PartialPoint>();
    pods.set(key, containers);
    const parts = containers.get(container) ?? {};
    containers.set(container, parts);
    return parts;
  };
  for (const each of text.split('\n')) {
    const match = line.exec(each);
    if (match === null) continue;
    const value = Number(match[4] ?? match[8]);
    if (!(value >= 0 && value <= most)) continue;
    const parts = match[1] === 'node' ? node : ofContainer(match[3] ?? match[7] ?? '');
    if (parts === undefined) continue;
    if (match[6] !== undefined) parts.startedMs = value * 1000;
    else if (match[2] === 'memory_working_set_bytes') parts.memoryBytes = value;
    else {
      // The timestamp is that of the CPU time, for the rate.
      parts.cpuSeconds = value;
      parts.timestampMs = Number(match[5]);
    }
  }
  return { node: pointOf(node), pods: completePoints(pods) };
}

/** The labels up to the first that is malformed. */
function labelsIn(text: string): Partial<Record<string, string>> {
  const result: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(label)) {
    // Copied, since a part of a text keeps the whole text in memory.
    result[name] = Buffer.from(value.replaceAll(/\\(.)/g, '$1')).toString();
  }
  return result;
}

function pointOf({ timestampMs, cpuSeconds, memoryBytes, startedMs = 0 }: PartialPoint): Point | undefined {
  if (timestampMs === undefined || cpuSeconds === undefined || memoryBytes === undefined) return undefined;
  return { timestampMs, cpuSeconds, memoryBytes, startedMs };
}

function completePoints(pods: ReadonlyMap<string, ReadonlyMap<string, PartialPoint>>): Map<string, Map<string, Point>> {
  const result = new Map<string, Map<string, Point>>();
  for (const [key, containers] of pods) {
    const points = new Map<string, Point>();
    for (const [name, parts] of containers) {
      const point = pointOf(parts);
      if (point !== undefined) points.set(name, point);
    }
    if (points.size > 0) result.set(key, points);
  }
  return result;
}
