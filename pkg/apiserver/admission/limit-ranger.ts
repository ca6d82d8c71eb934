/** Applies a namespace's LimitRanges: default requests and limits, and their bounds. */
import { limitranges } from '#api/core/v1/resources.gen.js';
import type { Container, LimitRange, LimitRangeItem, PersistentVolumeClaim, Pod } from '#api/core/v1/types.gen.js';
import { andThen, type MaybePromise } from '#apimachinery/async/steps.js';
import type { Draft } from '#apimachinery/draft.js';
import { addQuantities, compareQuantities, parseQuantity } from '#apimachinery/quantity.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, ReadingPlugin } from '#apiserver/admission/plugin.js';

interface Usage {
  readonly requests: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, string>>;
}

/** One sentence for each bound of a LimitRange's item that the usage violates; empty if all hold. Pure. */
function limitFailures(item: LimitRangeItem, usage: Usage): string[] {
  const failures: string[] = [];
  for (const [name, min] of Object.entries(item.min ?? {})) failures.push(...minimum(item.type, name, min, usage));
  for (const [name, max] of Object.entries(item.max ?? {})) failures.push(...maximum(item.type, name, max, usage));
  for (const [name, ratio] of Object.entries(item.maxLimitRequestRatio ?? {}))
    failures.push(...ratioWithin(item.type, name, ratio, usage));
  return failures;
}

function minimum(type: string, name: string, min: string, { requests, limits }: Usage): string[] {
  const [request, limit] = [requests[name], limits[name]];
  const words = `minimum ${name} usage per ${type} is ${min}`;
  if (request === undefined) return [`${words}.  No request is specified`];
  if (compareQuantities(request, min) < 0) return [`${words}, but request is ${request}`];
  if (limit !== undefined && compareQuantities(limit, min) < 0) return [`${words}, but limit is ${limit}`];
  return [];
}

function maximum(type: string, name: string, max: string, { requests, limits }: Usage): string[] {
  const [request, limit] = [requests[name], limits[name]];
  const words = `maximum ${name} usage per ${type} is ${max}`;
  if (type === 'PersistentVolumeClaim') {
    if (request === undefined) return [`${words}.  No request is specified`];
    return compareQuantities(request, max) > 0 ? [`${words}, but request is ${request}`] : [];
  }
  if (limit === undefined) return [`${words}.  No limit is specified`];
  if (compareQuantities(limit, max) > 0) return [`${words}, but limit is ${limit}`];
  if (request !== undefined && compareQuantities(request, max) > 0) return [`${words}, but request is ${request}`];
  return [];
}

function ratioWithin(type: string, name: string, ratio: string, { requests, limits }: Usage): string[] {
  const [request, limit] = [requests[name], limits[name]];
  const words = `${name} max limit to request ratio per ${type} is ${ratio}`;
  const amount = (text: string | undefined) => (text === undefined ? 0n : parseQuantity(text).nanos);
  if (amount(request) === 0n) return [`${words}, but no request is specified or request is 0`];
  if (amount(limit) === 0n) return [`${words}, but no limit is specified or limit is 0`];
  const actual = Number(amount(limit)) / Number(amount(request));
  const allowed = Number(amount(ratio)) / 1e9;
  return actual > allowed ? [`${words}, but provided ratio is ${actual.toFixed(6)}`] : [];
}

/** The usage of a whole pod: the sum of its containers, or the largest init container if that uses more. */
function sumResources(containers: readonly Usage[], initContainers: readonly Usage[]): Usage {
  const total = (kind: keyof Usage) => {
    const sum: Record<string, string> = {};
    for (const usage of containers)
      for (const [name, amount] of Object.entries(usage[kind])) {
        const before = sum[name];
        sum[name] = before === undefined ? amount : addQuantities(before, amount);
      }
    for (const usage of initContainers)
      for (const [name, amount] of Object.entries(usage[kind])) {
        const before = sum[name];
        if (before === undefined || compareQuantities(amount, before) > 0) sum[name] = amount;
      }
    return sum;
  };
  return { requests: total('requests'), limits: total('limits') };
}

/** Limit of amounts times containers: a hundred of each, with some reserve. */
const maxChecks = 50_000;

export class LimitRanger extends ReadingPlugin implements AdmissionPlugin {
  readonly name = 'LimitRanger';
  readonly resources = [
    { group: 'core', resource: 'pods' },
    { group: 'core', resource: 'persistentvolumeclaims' },
  ] as const;

  handles(attributes: AdmissionAttributes): boolean {
    const { operation } = attributes;
    if (concerns(attributes, 'core', 'pods')) return operation === 'CREATE';
    return concerns(attributes, 'core', 'persistentvolumeclaims') && (operation === 'CREATE' || operation === 'UPDATE');
  }

  admit(attributes: MutableAttributes): MaybePromise<void> {
    if (!concerns(attributes, 'core', 'pods')) return;
    return andThen(this.#items(attributes), (items) => this.#fill(attributes, items));
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    return andThen(this.#items(attributes), (items) => this.#check(attributes, items));
  }

  #fill(attributes: MutableAttributes, items: readonly LimitRangeItem[]): void {
    // Most namespaces have no limits.
    if (items.length === 0) return;
    const pod = attributes.object as Draft<Pod>;
    const notes: string[] = [];
    this.#requireFew(attributes, items);
    for (const item of items) {
      if (item.type !== 'Container') continue;
      for (const container of pod.spec.containers ?? []) notes.push(...applyDefaults(container, item, 'container'));
      for (const container of pod.spec.initContainers ?? [])
        notes.push(...applyDefaults(container, item, 'init container'));
    }
    if (notes.length === 0) return;
    const key = `${this.dialect.labelDomain}/limit-ranger`;
    const text = `LimitRanger plugin set: ${notes.join('; ')}`;
    pod.metadata.annotations = { ...pod.metadata.annotations, [key]: text };
  }

  #check(attributes: AdmissionAttributes, items: readonly LimitRangeItem[]): void {
    if (items.length === 0) return;
    const failures: string[] = [];
    this.#requireFew(attributes, items);
    for (const item of items) {
      for (const usage of usages(attributes, item.type)) {
        for (const failure of limitFailures(item, usage)) failures.push(failure);
      }
    }
    if (failures.length === 0) return;
    const why = failures.length === 1 ? (failures[0] ?? '') : `[${failures.join(', ')}]`;
    throw this.refusal(attributes, why);
  }

  /** Bounds the work: every container is checked against every amount, and an object may contain many of both. */
  #requireFew(attributes: AdmissionAttributes, items: readonly LimitRangeItem[]): void {
    const containers = concerns(attributes, 'core', 'pods') ? containersOf(attributes.object as Draft<Pod>).length : 1;
    const amounts = items.reduce((sum, item) => sum + amountsOf(item), 0);
    if (containers * amounts <= maxChecks) return;
    const why = `the limit ranges of the namespace have ${amounts} amounts, which is too many for ${containers} containers`;
    throw this.refusal(attributes, why);
  }

  #items({ namespace }: AdmissionAttributes): MaybePromise<readonly LimitRangeItem[]> {
    const ranges: MaybePromise<readonly LimitRange[]> = this.reader.list(limitranges, namespace);
    return andThen(ranges, (objects) => objects.flatMap((range) => range.spec?.limits ?? []));
  }
}

/** The usage that an item of that type bounds. */
function usages(attributes: AdmissionAttributes, type: string): Usage[] {
  if (concerns(attributes, 'core', 'persistentvolumeclaims')) {
    const claim = attributes.object as Draft<PersistentVolumeClaim>;
    return type === 'PersistentVolumeClaim' ? [{ requests: claim.spec.resources?.requests ?? {}, limits: {} }] : [];
  }
  const pod = attributes.object as Draft<Pod>;
  if (type === 'Container') return containersOf(pod).map(usageOf);
  const { containers = [], initContainers = [] } = pod.spec;
  return type === 'Pod' ? [sumResources(containers.map(usageOf), initContainers.map(usageOf))] : [];
}

/** Containers may be missing, since validation runs later. */
function containersOf({ spec: { containers = [], initContainers = [] } }: Pod): Container[] {
  return [...containers, ...initContainers];
}

function amountsOf({ min, max, maxLimitRequestRatio, defaultRequest, default: defaultLimit }: LimitRangeItem): number {
  const all = [min, max, maxLimitRequestRatio, defaultRequest, defaultLimit];
  return all.reduce((sum, amounts) => sum + Object.keys(amounts ?? {}).length, 0);
}

const usageOf = ({ resources }: Container): Usage => ({
  requests: resources?.requests ?? {},
  limits: resources?.limits ?? {},
});

/** Fills in the container's missing amounts; returns a description of what it set. */
function applyDefaults(container: Draft<Container>, item: LimitRangeItem, what: string): string[] {
  const notes: string[] = [];
  const fill = (kind: 'limits' | 'requests', defaults: Record<string, string>) => {
    const amounts = container.resources?.[kind] ?? {};
    const missing = Object.entries(defaults).filter(([name]) => !(name in amounts));
    if (missing.length === 0) return;
    container.resources = { ...container.resources, [kind]: { ...amounts, ...Object.fromEntries(missing) } };
    const names = missing
      .map(([name]) => name)
      .sort()
      .join(', ');
    notes.push(`${names} ${kind === 'limits' ? 'limit' : 'request'} for ${what} ${container.name}`);
  };
  fill('requests', item.defaultRequest ?? {});
  fill('limits', item.default ?? {});
  return notes;
}
