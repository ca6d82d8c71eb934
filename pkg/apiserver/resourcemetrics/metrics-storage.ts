/** The storages of the metrics API, whose objects are computed when they are read. */
import { nodes, pods } from '#api/metrics/v1beta1/resources.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Scraper } from '#apiserver/resourcemetrics/scraper.js';
import { momentOf, nodeUsage, podUsage, quantitiesOf, type Usage } from '#apiserver/resourcemetrics/usage.js';
import { EmptyStorage } from '#apiserver/resources/empty-storage.js';
import { TransientEntry } from '#apiserver/resources/served-resource.js';
import { firstSegment } from '#storage/cache/listing.js';
import type { Entry, ListOptions, ListResult, ReadVersion, ResourceStorage } from '#storage/resource-storage.js';

export interface MetricsSources {
  readonly dialect: Dialect;
  readonly scraper: Pick<Scraper, 'ensureReadings' | 'readings'>;
  readonly now: () => number;
  /** The storage of the measured nodes or pods. */
  readonly measured: Pick<ResourceStorage, 'prefix' | 'waitReady' | 'cached' | 'cachedIn'>;
}

/** The part of a node or pod that its metrics need. */
interface Subject {
  readonly metadata: { readonly name?: string; readonly namespace?: string; readonly labels?: Record<string, string> };
  readonly spec?: { readonly nodeName?: string };
}

abstract class MetricsStorage extends EmptyStorage {
  protected readonly sources: MetricsSources;
  readonly #kind: string;
  readonly #apiVersion: string;

  constructor(sources: MetricsSources, { resource, kind, group, version }: typeof nodes | typeof pods) {
    const { dialect } = sources;
    super({ group: dialect.groupName(group), resource });
    this.sources = sources;
    this.#kind = kind;
    this.#apiVersion = dialect.apiVersion(group, version);
  }

  override async get(key: string, _version: ReadVersion): Promise<Entry | undefined> {
    const { scraper, measured } = this.sources;
    await Promise.all([scraper.ensureReadings(), measured.waitReady()]);
    const object = measured.cached(key);
    return object === undefined ? undefined : this.#entry(key, object);
  }

  /** Ignores the limit, like metrics-server. */
  override async list({ scope, match, admits }: ListOptions): Promise<ListResult> {
    const { scraper, measured } = this.sources;
    await Promise.all([scraper.ensureReadings(), measured.waitReady()]);
    const entries: Entry[] = [];
    for (const object of measured.cachedIn(scope)) {
      if (admits?.(firstSegment(object.key, measured.prefix)) === false) continue;
      const entry = this.#entry(object.key.slice(measured.prefix.length), object);
      if (entry !== undefined && (match === undefined || match(entry))) entries.push(entry);
    }
    return { entries, revision: 0n };
  }

  /** The fields after the metadata; undefined without measurements. */
  protected abstract figures(subject: Subject, key: string): object | undefined;

  #entry(key: string, object: Entry): Entry | undefined {
    const subject = subjectOf(object);
    const figures = this.figures(subject, key);
    if (figures === undefined) return undefined;
    const { name, namespace, labels } = subject.metadata;
    const creationTimestamp = momentOf({ timestampMs: this.sources.now(), windowMs: 0 }).timestamp;
    const metadata = { name, namespace, creationTimestamp, labels };
    const json = JSON.stringify({ kind: this.#kind, apiVersion: this.#apiVersion, metadata, ...figures });
    return new TransientEntry(this.prefix + key, Buffer.from(json), 0n);
  }
}

export class NodeMetricsStorage extends MetricsStorage {
  constructor(sources: MetricsSources) {
    super(sources, nodes);
  }

  protected figures(_subject: Subject, key: string): object | undefined {
    const readings = this.sources.scraper.readings(key);
    const usage = readings === undefined ? undefined : nodeUsage(readings);
    return usage === undefined ? undefined : { ...momentOf(usage), usage: quantitiesOf(usage) };
  }
}

export class PodMetricsStorage extends MetricsStorage {
  constructor(sources: MetricsSources) {
    super(sources, pods);
  }

  /** Uses only measurements of the pod's own node. */
  protected figures({ spec }: Subject, key: string): object | undefined {
    const readings = this.sources.scraper.readings(spec?.nodeName ?? '');
    const usages = readings === undefined ? undefined : podUsage(readings, key);
    if (usages === undefined) return undefined;
    const containers = [...usages]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, usage]) => ({ name, usage: quantitiesOf(usage) }));
    return { ...momentOf(earliest([...usages.values()])), containers };
  }
}

/** The earliest measurement: a pod's time is that of its first measured container. */
function earliest(usages: readonly Usage[]): Usage {
  return usages.reduce((a, b) => (b.timestampMs < a.timestampMs ? b : a));
}

function subjectOf(entry: Entry): Subject {
  return entry.outline() as Subject;
}
