/**
 * Reads the three metrics APIs through the API server, which proxies requests to their servers:
 *
 *     /apis/metrics.k8s.io/v1beta1/namespaces/NS/pods?labelSelector=…
 *     /apis/custom.metrics.k8s.io/V/namespaces/NS/RESOURCE/NAME/METRIC, NAME being * for all pods of a selector
 *     /apis/external.metrics.k8s.io/v1beta1/namespaces/NS/METRIC?labelSelector=…
 *
 * All methods throw with the messages of release 1.24.
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
} from '#controllers/horizontalpodautoscaling/metrics-responses.js';
import type { PodMetrics } from '#controllers/horizontalpodautoscaling/pods.js';

/** The maximum size of a response, enough for thousands of pods. */
const maxResponseBytes = 16 * 1024 * 1024;
/** Metrics servers may hang, and autoscalers are reconciled one at a time. */
const timeoutMs = 30_000;
/** The supported versions of the custom metrics API. */
const customVersions = ['v1beta2', 'v1beta1'];

interface Scope {
  readonly namespace: string;
  readonly signal?: AbortSignal;
}

interface MetricsRequest {
  readonly group: string;
  readonly version: string;
  /** The path below the namespace: the resource, perhaps a name and a metric. */
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

  /** The resource usage of the selected pods, or of one container in each. */
  ofResource(
    scope: Scope,
    { selector, resource, container }: { selector: LabelSelector; resource: string; container?: string },
  ): Promise<PodMetrics> {
    const build = async (): Promise<MetricsRequest> => ({
      group: this.#context.dialect.metricsGroups.resource,
      version: 'v1beta1',
      path: ['pods'],
      query: { labelSelector: selector.toString() },
    });
    return this.#read('resource', scope, build, (response) => podMetricsIn(response, resource, container));
  }

  /** A custom metric of the selected pods. */
  ofPods(
    scope: Scope,
    { selector, metric, series }: { selector: LabelSelector; metric: string; series: LabelSelector },
  ): Promise<PodMetrics> {
    const build = () => this.#customRequest(['pods', '*', metric], series, selector);
    return this.#read('custom', scope, build, metricsByPodIn);
  }

  /** A custom metric of an object in the namespace, or of the namespace itself. */
  ofObject(
    scope: Scope,
    { object, metric, series }: { object: CrossVersionObjectReference; metric: string; series: LabelSelector },
  ): Promise<number> {
    const { apiVersion = '', kind, name } = object;
    const { group } = parseGroupVersion(apiVersion);
    const build = async () =>
      // The name is ignored, because autoscalers must not read other namespaces.
      kind === 'Namespace' && group === ''
        ? this.#customRequest(['metrics', metric], series)
        : this.#customRequest([await this.#resourceOf(group, kind), name, metric], series);
    return this.#read('custom', scope, build, onlyValueIn);
  }

  /** The sum of an external metric's series. */
  external(scope: Scope, { metric, series }: { metric: string; series: LabelSelector }): Promise<number> {
    const build = async (): Promise<MetricsRequest> => ({
      group: this.#context.dialect.metricsGroups.external,
      version: 'v1beta1',
      path: [metric],
      query: { labelSelector: series.toString() },
    });
    return this.#read('external', scope, build, sumOfValuesIn);
  }

  /** Uses the first supported version in the server's order of preference. */
  async #customRequest(
    path: MetricsRequest['path'],
    series: LabelSelector,
    selector?: LabelSelector,
  ): Promise<MetricsRequest> {
    const group = this.#context.dialect.metricsGroups.custom;
    const served = (await this.#kinds.groups()).find(({ name }) => name === group);
    if (served === undefined) throw new Error(`no custom metrics API (${group}) registered`);
    const versions = [served.preferredVersion, ...(served.versions ?? [])].flatMap((each) => each?.version ?? []);
    const version = versions.find((each) => customVersions.includes(each));
    if (version === undefined) throw new Error('no known available metric versions found');
    return {
      group,
      version,
      path,
      query: { labelSelector: selector?.toString(), metricLabelSelector: series.toString() },
    };
  }

  /** For example `deployments.apps`. */
  async #resourceOf(group: string, kind: string): Promise<string> {
    try {
      const [{ resource }] = await this.#kinds.ofKind(group, kind);
      return group === '' ? resource : `${resource}.${group}`;
    } catch (error) {
      const qualified = group === '' ? kind : `${kind}.${group}`;
      throw new Error(`unable to map kind ${qualified} to resource: ${messageOf(error)}`, { cause: error });
    }
  }

  async #read<T>(
    api: Api,
    { namespace, signal }: Scope,
    build: () => Promise<MetricsRequest>,
    decode: (response: unknown) => T | undefined,
  ): Promise<T> {
    const { client, clock } = this.#context;
    const limit = deadline(clock, timeoutMs, signal);
    let request: MetricsRequest | undefined;
    let result: T | undefined;
    try {
      request = await build();
      const { group, version, path, query } = request;
      const segments = [group, version, 'namespaces', namespace, ...path].map(pathSegment);
      const url = `/apis/${segments.join('/')}${queryString(query)}`;
      const options = { signal: limit.signal, maxBytes: maxResponseBytes };
      result = decode(await client.request('GET', url, undefined, options));
    } catch (error) {
      const message = request === undefined ? messageOf(error) : failureMessage(api, error, request);
      throw new Error(`unable to fetch metrics from ${api} metrics API: ${message}`, { cause: error });
    } finally {
      limit.release();
    }
    if (result === undefined) throw new Error(`no metrics returned from ${api} metrics API`);
    return result;
  }
}

/** The error message of 1.24's clients; those of external metrics do not name the resource. */
function failureMessage(api: Api, error: unknown, { group, path: [resource, name] }: MetricsRequest): string {
  const status = statusOf(error);
  const operation = api === 'external' ? '' : ` (get ${resource}.${group}${name === undefined ? '' : ` ${name}`})`;
  if (status?.code === 404 && status.details?.kind === undefined) {
    return `the server could not find the requested resource${operation}`;
  }
  // The API server's proxy cannot reach the metrics server.
  if (status?.code === 503 && status.message?.toLowerCase() === 'service unavailable') {
    return `the server is currently unable to handle the request${operation}`;
  }
  return messageOf(error);
}
