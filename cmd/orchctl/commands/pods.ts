/** Finds pods by the arguments of commands. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { LabelSelector } from '#api/meta/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import type { ApiObject } from '#client/client.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

/** An object with a label selector or (services, replication controllers) a map of labels. */
type ObjectWithSelector = ApiObject & { spec?: { selector?: LabelSelector | Record<string, string> } };

export async function podsOf({ api, namespace }: Invocation, labelSelector: string): Promise<Pod[]> {
  const resource = (await api.catalog()).one('pods');
  return api.list<Pod>(resource, { namespace }, { labelSelector });
}

/** The pod for `NAME` or `pod/NAME`, or the best pod of `deployment/NAME` (and other owners of pods). */
export async function podOf(invocation: Invocation, target: string): Promise<Pod> {
  const { api, namespace } = invocation;
  const catalog = await api.catalog();
  const [type, name, more] = target.split('/');
  if (more !== undefined || type === undefined) throw new UsageError(`"${target}" is not POD or TYPE/NAME`);
  const pods = catalog.one('pods');
  if (name === undefined) return api.get<Pod>(pods, type, { namespace });
  const resource = catalog.one(type);
  if (resource.resource === 'pods') return api.get<Pod>(pods, name, { namespace });
  const owner = await api.get<ObjectWithSelector>(resource, name, { namespace });
  const candidates = await podsOf(invocation, selectorText(owner.spec?.selector, target));
  const best = candidates.sort(preferred)[0];
  if (best === undefined) throw new CommandError(`${target} has no pods`);
  return best;
}

/**
 * The container of `--container`, else the default one: that of the annotation, or the first. Says which of several it is.
 * Throws a CommandError for a container that the pod lacks.
 */
export function containerOf(pod: Pod, { err, values }: Pick<Invocation, 'err' | 'values'>): string {
  const { containers, ephemeralContainers = [], initContainers = [] } = pod.spec;
  const all = [...containers, ...initContainers, ...ephemeralContainers].map(({ name }) => name);
  const given = values.string('container') ?? '';
  if (given !== '') {
    if (!all.includes(given)) {
      throw new CommandError(`container ${given} not found in pod ${pod.metadata.name ?? ''}`);
    }
    return given;
  }
  const annotated = [orchDialect, kubernetesDialect]
    .map(({ annotations }) => pod.metadata.annotations?.[annotations.defaultContainer])
    .find((name) => name !== undefined && all.includes(name));
  if (annotated !== undefined) return annotated;
  const first = containers[0]?.name ?? '';
  if (all.length > 1 && !values.bool('quiet')) {
    const names = [
      ...containers.map(({ name }) => name),
      ...initContainers.map(({ name }) => `${name} (init)`),
      ...ephemeralContainers.map(({ name }) => `${name} (ephem)`),
    ];
    err.write(`Defaulted container ${JSON.stringify(first)} out of: ${names.join(', ')}\n`);
  }
  return first;
}

/** The pod as soon as it is as `isSo` says. Throws a CommandError after `timeoutMs`, or when it is deleted. */
export async function podWhen(
  { api, namespace, signal }: Invocation,
  name: string,
  isSo: (pod: Pod) => boolean,
  timeoutMs: number,
): Promise<Pod> {
  const pods = (await api.catalog()).one('pods');
  const stop = new AbortController();
  const limit = AbortSignal.timeout(timeoutMs);
  const both = AbortSignal.any([signal, stop.signal, limit]);
  const selection = { fieldSelector: `metadata.name=${name}` };
  try {
    while (!both.aborted) {
      const pod = await api.get<Pod>(pods, name, { namespace });
      if (isSo(pod)) return pod;
      const { resourceVersion } = pod.metadata;
      for await (const event of api.watch<Pod>(pods, { namespace }, { ...selection, resourceVersion }, both)) {
        if (event.type === 'DELETED') throw new CommandError(`pods ${JSON.stringify(name)} not found`);
        if (event.type !== 'BOOKMARK' && isSo(event.object)) return event.object;
      }
    }
  } catch (error) {
    if (!limit.aborted) throw error;
  } finally {
    stop.abort();
  }
  throw new CommandError('timed out waiting for the condition');
}

function selectorText(selector: LabelSelector | Record<string, string> | undefined, target: string): string {
  if (selector === undefined) throw new UsageError(`${target} selects no pods`);
  const labels = 'matchLabels' in selector ? selector.matchLabels : 'matchExpressions' in selector ? {} : selector;
  const expressions = 'matchExpressions' in selector ? (selector as LabelSelector).matchExpressions : [];
  const parts = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${String(value)}`);
  for (const { key, operator, values } of expressions ?? []) {
    const list = `(${(values ?? []).join(',')})`;
    if (operator === 'In') parts.push(`${key} in ${list}`);
    else if (operator === 'NotIn') parts.push(`${key} notin ${list}`);
    else parts.push(operator === 'Exists' ? key : `!${key}`);
  }
  return parts.join(',');
}

/** Ready before not ready, running before waiting, older before younger. */
function preferred(a: Pod, b: Pod): number {
  return rank(a) - rank(b) || (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? '');
}

function rank(pod: Pod): number {
  const ready = pod.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true;
  if (pod.metadata.deletionTimestamp !== undefined) return 3;
  if (ready) return 0;
  return pod.status?.phase === 'Running' ? 1 : 2;
}
