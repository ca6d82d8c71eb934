/** `wait`: until objects are gone, or are as a condition or a path says. */
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { objectsOptions } from '#cmd/orchctl/commands/options.js';
import { type Info, scopeOf, select } from '#cmd/orchctl/commands/selection.js';
import { resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { JsonPath, relaxedPath } from '#cmd/orchctl/print/jsonpath/evaluate.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

/** Whether the object is as it should be; undefined while it is absent. */
type Condition = { readonly isDeletion: true } | { readonly isDeletion: false; isMet(object: ApiObject): boolean };

/** Negative timeouts. */
const weekMs = 168 * 3_600_000;

export const wait: Command = {
  name: 'wait',
  usage: '(TYPE NAME… | TYPE/NAME… | -f FILE) --for (delete | condition=NAME[=VALUE] | jsonpath={PATH}=VALUE)',
  summary: 'Wait until objects are gone, or have a condition or a value',
  examples: [
    'orchctl wait --for=condition=Available deployment/web --timeout=60s',
    "orchctl wait --for=jsonpath='{.status.phase}'=Running pod/web-0",
    'orchctl wait --for=delete pod/web-0',
  ],
  completes: 'objects',
  options: {
    ...objectsOptions,
    ...printOptions,
    for: { type: 'string', section: 'Waiting', meaning: 'delete, condition=NAME[=VALUE] or jsonpath={PATH}=VALUE.' },
    timeout: {
      type: 'duration',
      default: 30_000,
      section: 'Waiting',
      meaning: 'Stop waiting after this long; 0: look once; negative: a week.',
    },
  },
  async run(invocation) {
    const { values } = invocation;
    const condition = conditionOf(values.string('for') ?? '');
    const timeoutMs = values.number('timeout');
    const { infos, errors } = await select(invocation);
    const failures = errors.filter((error) => !condition.isDeletion || !isNotFound(error));
    const print = await resultPrinter(invocation, 'none');
    for (const info of infos) {
      try {
        const limitMs = timeoutMs < 0 ? weekMs : timeoutMs;
        print(await untilMet(invocation, info, condition, limitMs), 'condition met');
      } catch (error) {
        failures.push(error);
      }
    }
    throwAll(failures);
    if (infos.length === 0 && !condition.isDeletion) throw new CommandError('no matching resources found');
    return 0;
  },
};

/** Throws a CommandError. */
function conditionOf(text: string): Condition {
  if (text.toLowerCase() === 'delete') return { isDeletion: true };
  if (text.startsWith('condition=')) {
    const [name = '', ...value] = text.slice('condition='.length).split('=');
    const expected = value.length === 0 ? 'true' : value.join('=');
    return { isDeletion: false, isMet: (object) => hasCondition(object, name.toLowerCase(), expected.toLowerCase()) };
  }
  if (text.startsWith('jsonpath=')) {
    const [, expression = '', expected, more] = text.split('=');
    if (expected === undefined || more !== undefined) {
      throw new CommandError("jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3");
    }
    if (expected === '') throw new CommandError('jsonpath wait condition cannot be empty');
    const path = new JsonPath(relaxedPath(expression), { allowMissing: false });
    const value = expected.replaceAll(/^['"]+|['"]+$/g, '').trim();
    return { isDeletion: false, isMet: (object) => valueAt(path, object) === value };
  }
  throw new CommandError(`unrecognized condition: ${JSON.stringify(text)}`);
}

interface Observed extends ApiObject {
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly { type?: string; status?: string; observedGeneration?: number }[];
  };
}

/** Names and values are compared without regard to case. A condition of an older generation does not count. */
function hasCondition(object: ApiObject, name: string, expected: string): boolean {
  const { metadata, status } = object as Observed;
  const condition = status?.conditions?.find(({ type }) => type?.toLowerCase() === name);
  if (condition?.status === undefined) return false;
  const generation = condition.observedGeneration ?? status?.observedGeneration;
  if (metadata.generation !== undefined && generation !== undefined && generation < metadata.generation) return false;
  return condition.status.toLowerCase() === expected;
}

function valueAt(path: JsonPath, object: ApiObject): string {
  const results = path.results(object);
  if (results.length === 0) throw new CommandError('given jsonpath expression does not match any value');
  if (results.length > 1) throw new CommandError('given jsonpath expression matches more than one list');
  const [values = []] = results;
  if (values.length > 1) throw new CommandError('given jsonpath expression matches more than one value');
  const [value] = values;
  if (typeof value === 'object' && value !== null) {
    throw new CommandError('jsonpath leads to a nested object or list which is not supported');
  }
  return String(value).trim();
}

async function untilMet(
  { api, signal }: Invocation,
  info: Info,
  condition: Condition,
  limitMs: number,
): Promise<ApiObject> {
  const { resource, name, namespace } = info;
  const timedOut = () => new CommandError(`timed out waiting for the condition on ${resource.resource}/${name}`);
  const selection = { fieldSelector: `metadata.name=${name}` };
  const stop = new AbortController();
  const limit = AbortSignal.timeout(limitMs);
  const both = AbortSignal.any([signal, stop.signal, limit]);
  try {
    for (;;) {
      const [object] = await api.list(resource, scopeOf(namespace), selection);
      if (object === undefined && condition.isDeletion) return info.object;
      if (object !== undefined && !condition.isDeletion && condition.isMet(object)) return object;
      if (limitMs === 0) throw timedOut();
      const resourceVersion = object?.metadata.resourceVersion;
      for await (const event of api.watch<ApiObject>(
        resource,
        scopeOf(namespace),
        { ...selection, resourceVersion },
        both,
      )) {
        if (event.type === 'BOOKMARK') continue;
        if (event.type === 'DELETED') {
          if (condition.isDeletion) return event.object;
        } else if (!condition.isDeletion && condition.isMet(event.object)) return event.object;
      }
      if (both.aborted) throw timedOut();
    }
  } catch (error) {
    if (limit.aborted) throw timedOut();
    throw error;
  } finally {
    stop.abort();
  }
}
