/**
 * What an agent's `/metrics/resource` says, in Prometheus's text form. Agents are machines that somebody else may have taken
 * over: nothing of their answers is taken on trust. Pure.
 */

/** One measurement of a node or of a container. */
export interface Point {
  readonly timestampMs: number;
  /** Used since the start. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  /** Of the container; 0 where the agent does not say. */
  readonly startedMs: number;
}

export interface Reading {
  readonly node: Point | undefined;
  /** `namespace/pod` → container → what it has used. Containers of which only a part is told are left out. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Point>>;
}

/** What is known so far of a point. */
interface Parts {
  timestampMs?: number;
  cpuSeconds?: number;
  memoryBytes?: number;
  startedMs?: number;
}

const line =
  /^(node|container)_(cpu_usage_seconds_total|memory_working_set_bytes)(?:\{(.*)\})? (\S+) (\d{1,13})$|^container_(start_time_seconds)\{(.*)\} (\S+)(?: \d+)?$/;
/** More than any machine has of anything. */
const most = 1e15;

const label = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** Other families, and lines that are none of theirs, are passed over. */
export function readingOf(text: string): Reading {
  const node: Parts = {};
  const pods = new Map<string, Map<string, Parts>>();
  const ofContainer = (labels: string): Parts | undefined => {
    const { namespace, pod, container } = labelsIn(labels);
    if (namespace === undefined || pod === undefined || container === undefined || container === '') return undefined;
    const key = `${namespace}/${pod}`;
    const containers = pods.get(key) ?? new Map<string, Parts>();
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
      // The rate depends on when this was read.
      parts.cpuSeconds = value;
      parts.timestampMs = Number(match[5]);
    }
  }
  return { node: pointOf(node), pods: whole(pods) };
}

function labelsIn(text: string): Partial<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(label)) found[name] = value.replaceAll(/\\(.)/g, '$1');
  return found;
}

function pointOf({ timestampMs, cpuSeconds, memoryBytes, startedMs = 0 }: Parts): Point | undefined {
  if (timestampMs === undefined || cpuSeconds === undefined || memoryBytes === undefined) return undefined;
  return { timestampMs, cpuSeconds, memoryBytes, startedMs };
}

function whole(pods: ReadonlyMap<string, ReadonlyMap<string, Parts>>): Map<string, Map<string, Point>> {
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
