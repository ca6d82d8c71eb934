/**
 * The three APIs of metrics, read through the API server, which hands their requests on to whoever serves them:
 *
 *     /apis/metrics.k8s.io/v1beta1/namespaces/NS/pods?labelSelector=…
 *     /apis/custom.metrics.k8s.io/V/namespaces/NS/RESOURCE/NAME/METRIC, NAME being * for all pods of a selector
 *     /apis/external.metrics.k8s.io/v1beta1/namespaces/NS/METRIC?labelSelector=…
 *
 * All throw errors in the words of release 1.24.
 */
import type { CrossVersionObjectReference } from '#api/autoscaling/v2/types.gen.js';
import { deadline } from '#apimachinery/async/deadline.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import { parseGroupVersion } from '#apimachinery/group-version.js';
import type { LabelSelector } from '#apimachinery/selectors/labels.js';
import { pathSegment, type QueryValues, queryString } from '#client/rest/paths.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import type { ServedKinds } from '#controllers/framework/served-kinds.js';
import {
  metricsByPodIn,
  onlyValueIn,
  podMetricsIn,
  sumOfValuesIn,
} from '#controllers/horizontalpodautoscaling/answers.js';
import type { PodMetrics } from '#controllers/horizontalpodautoscaling/pods.js';

/** Longest answer that is read: some thousand pods. */
const maxAnswerBytes = 16 * 1024 * 1024;
/** Servers of metrics may hang, and autoscalers wait for one another. */
const patienceMs = 30_000;
/** Versions of the custom metrics API that are understood. */
const customVersions = ['v1beta2', 'v1beta1'];

/** Whose metrics are wanted. */
interface Scope {
  readonly namespace: string;
  readonly signal?: AbortSignal;
}

interface Question {
  readonly group: string;
  readonly version: string;
  /** Resource, and where it has more the name and what follows. */
  readonly path: readonly [string, ...string[]];
  readonly query: QueryValues;
}

type Api = 'resource' | 'custom' | 'external';

export class MetricsClient {
  readonly #context: Pick<ControllerContext, 'client' | 'clock' | 'dialect'>;
  readonly #kinds: ServedKinds;

  constructor(context: Pick<ControllerContext, 'client' | 'clock' | 'dialect'>, kinds: ServedKinds) {
    this.#context = context;
    this.#kinds = kinds;
  }

  /** What the selected pods, or one container of each, use of a resource. */
  ofResource(
    scope: Scope,
    { selector, resource, container }: { selector: LabelSelector; resource: string; container?: string },
  ): Promise<PodMetrics> {
    const question = async (): Promise<Question> => ({
      group: this.#context.dialect.metricsGroups.resource,
      version: 'v1beta1',
      path: ['pods'],
      query: { labelSelector: selector.toString() },
    });
    return this.#ask('resource', scope, question, (answer) => podMetricsIn(answer, resource, container));
  }

  /** A custom metric of each of the selected pods. */
  ofPods(
    scope: Scope,
    { selector, metric, series }: { selector: LabelSelector; metric: string; series: LabelSelector },
  ): Promise<PodMetrics> {
    const question = () => this.#custom(['pods', '*', metric], series, selector);
    return this.#ask('custom', scope, question, metricsByPodIn);
  }

  /** A custom metric of one object of the namespace, or of the namespace itself. */
  ofObject(
    scope: Scope,
    { object, metric, series }: { object: CrossVersionObjectReference; metric: string; series: LabelSelector },
  ): Promise<number> {
    const { apiVersion = '', kind, name } = object;
    const { group } = parseGroupVersion(apiVersion);
    const question = async () =>
      // Whatever it is called: nobody may look into another namespace.
      kind === 'Namespace' && group === ''
        ? this.#custom(['metrics', metric], series)
        : this.#custom([await this.#resourceOf(group, kind), name, metric], series);
    return this.#ask('custom', scope, question, onlyValueIn);
  }

  /** The sum of an external metric's series. */
  external(scope: Scope, { metric, series }: { metric: string; series: LabelSelector }): Promise<number> {
    const question = async (): Promise<Question> => ({
      group: this.#context.dialect.metricsGroups.external,
      version: 'v1beta1',
      path: [metric],
      query: { labelSelector: series.toString() },
    });
    return this.#ask('external', scope, question, sumOfValuesIn);
  }

  /** In the version that is served, the server's preferred one first. */
  async #custom(path: Question['path'], series: LabelSelector, selector?: LabelSelector): Promise<Question> {
    const group = this.#context.dialect.metricsGroups.custom;
    const served = (await this.#kinds.groups()).find(({ name }) => name === group);
    if (served === undefined) throw new Error(`no custom metrics API (${group}) registered`);
    const offered = [served.preferredVersion, ...(served.versions ?? [])].flatMap((each) => each?.version ?? []);
    const version = offered.find((each) => customVersions.includes(each));
    if (version === undefined) throw new Error('no known available metric versions found');
    return {
      group,
      version,
      path,
      query: { labelSelector: selector?.toString(), metricLabelSelector: series.toString() },
    };
  }

  /** `deployments.apps`. */
  async #resourceOf(group: string, kind: string): Promise<string> {
    try {
      const [{ resource }] = await this.#kinds.ofKind(group, kind);
      return group === '' ? resource : `${resource}.${group}`;
    } catch (error) {
      const qualified = group === '' ? kind : `${kind}.${group}`;
      throw new Error(`unable to map kind ${qualified} to resource: ${messageOf(error)}`, { cause: error });
    }
  }

  async #ask<T>(
    api: Api,
    { namespace, signal }: Scope,
    question: () => Promise<Question>,
    read: (answer: unknown) => T | undefined,
  ): Promise<T> {
    const { client, clock } = this.#context;
    const limit = deadline(clock, patienceMs, signal);
    let asked: Question | undefined;
    let found: T | undefined;
    try {
      asked = await question();
      const { group, version, path, query } = asked;
      const segments = [group, version, 'namespaces', namespace, ...path].map(pathSegment);
      const url = `/apis/${segments.join('/')}${queryString(query)}`;
      const options = { signal: limit.signal, maxBytes: maxAnswerBytes };
      found = read(await client.request('GET', url, undefined, options));
    } catch (error) {
      const message = asked === undefined ? messageOf(error) : failureOf(api, error, asked);
      throw new Error(`unable to fetch metrics from ${api} metrics API: ${message}`, { cause: error });
    } finally {
      limit.release();
    }
    if (found === undefined) throw new Error(`no metrics returned from ${api} metrics API`);
    return found;
  }
}

/** What clients of 1.24 say where an answer does not know what was asked for. That of external metrics does not say what. */
function failureOf(api: Api, error: unknown, { group, path: [resource, name] }: Question): string {
  const status = statusOf(error);
  const asked = api === 'external' ? '' : ` (get ${resource}.${group}${name === undefined ? '' : ` ${name}`})`;
  if (status?.code === 404 && status.details?.kind === undefined) {
    return `the server could not find the requested resource${asked}`;
  }
  // From the proxy in front of a server that is not there.
  if (status?.code === 503 && status.message?.toLowerCase() === 'service unavailable') {
    return `the server is currently unable to handle the request${asked}`;
  }
  return messageOf(error);
}
