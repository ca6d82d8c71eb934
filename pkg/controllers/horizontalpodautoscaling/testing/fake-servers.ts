/** A fake of discovery, one `scale` and the metrics APIs. */
import { horizontalpodautoscalers } from '#api/autoscaling/v2/resources.gen.js';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HorizontalPodAutoscalerStatus,
  MetricSpec,
} from '#api/autoscaling/v2/types.gen.js';
import { pods as podType } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { formatTime } from '#apimachinery/clock.js';
import { conflict, notFound, pathNotFound } from '#apimachinery/errors/status.js';
import type { Client } from '#client/client.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import { Harness, type Teardown } from '#controllers/framework/testing/harness.js';
import {
  type AutoscalerOptions,
  HorizontalPodAutoscalerController,
} from '#controllers/horizontalpodautoscaling/controller.js';

export const syncMs = 15_000;

/** The defaults of 1.24. */
const defaultOptions: AutoscalerOptions = {
  syncPeriodMs: syncMs,
  downscaleStabilizationMs: 300_000,
  tolerance: 0.1,
  cpuInitializationMs: 300_000,
  initialReadinessMs: 30_000,
};

/** The scale of the deployment `web`, the only target. */
interface FakeScale {
  replicas: number;
  status: { replicas: number; selector?: string };
  version: number;
}

interface FakeGroup {
  name: string;
  versions: { groupVersion: string; version: string }[];
  preferredVersion: { groupVersion: string; version: string };
}

export class FakeServers {
  readonly harness: Harness;
  readonly scale: FakeScale = { replicas: 3, status: { replicas: 3, selector: 'app=web' }, version: 1 };
  /** Responses by path and query below `/apis/`; errors are thrown. */
  readonly answers = new Map<string, unknown>();
  readonly groups: FakeGroup[] = [this.group('apps', 'v1')];
  /** All requests, as `METHOD path`. */
  readonly requests: string[] = [];
  /** All written sizes. */
  readonly written: number[] = [];
  readonly context: ControllerContext;

  constructor(t: Teardown) {
    this.harness = new Harness(t, [horizontalpodautoscalers, podType]);
    const { context } = this.harness;
    const { client } = context;
    const fake: Client = {
      dialect: client.dialect,
      resource: (type) => client.resource(type),
      request: async <R>(method: string, path: string, body?: unknown) => {
        // Respond asynchronously.
        await Promise.resolve();
        return this.#answer(method, path, body) as R;
      },
      close: () => client.close(),
    };
    this.context = { ...context, client: fake };
  }

  group(name: string, ...versions: [string, ...string[]]): FakeGroup {
    const all = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
    const [preferredVersion = { groupVersion: '', version: '' }] = all;
    return { name, versions: all, preferredVersion };
  }

  /** Adds the autoscaler `web`, by default with a target of 50 percent CPU utilization. */
  addScaler(spec: Partial<HorizontalPodAutoscalerSpec> = {}): HorizontalPodAutoscaler {
    return this.harness.api.seed<HorizontalPodAutoscaler>(horizontalpodautoscalers, {
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 1,
        maxReplicas: 10,
        metrics: [processor(50)],
        ...spec,
      },
      // The status that servers write before the first reconcile.
      status: { desiredReplicas: 0, currentMetrics: null } as unknown as HorizontalPodAutoscalerStatus,
    });
  }

  get status() {
    return this.harness.api.get(horizontalpodautoscalers, 'default/web')?.status;
  }

  /** Conditions as text: `ScalingActive False FailedGetScale: …`. */
  get conditions(): string[] {
    return (this.status?.conditions ?? []).map(
      ({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`,
    );
  }

  /** Sets long-running ready pods that request one CPU each, and their usage in thousandths. */
  setPods(uses: readonly number[]): void {
    const { api, clock } = this.harness;
    const present = api.list(podType).length;
    for (let i = uses.length; i < present; i += 1) api.remove(podType, `default/web-${i}`);
    const since = formatTime(clock.now() - 3_600_000);
    for (let i = present; i < uses.length; i += 1) {
      const metadata = { name: `web-${i}`, namespace: 'default', labels: { app: 'web' } };
      const containers = [{ name: 'main', image: 'i', resources: { requests: { cpu: '1' } } }];
      const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: since }];
      const status = { phase: 'Running', startTime: since, conditions };
      api.seed<Pod>(podType, { metadata, spec: { containers }, status });
    }
    this.setUses(uses);
  }

  /** Sets the response of the resource metrics API. */
  setUses(uses: readonly number[]): void {
    const timestamp = formatTime(this.harness.clock.now());
    const items = uses.map((milli, i) => ({
      metadata: { name: `web-${i}` },
      timestamp,
      window: '30s',
      containers: [{ name: 'main', usage: { cpu: `${milli}m`, memory: '1Mi' } }],
    }));
    this.answers.set(this.resourcePath, { kind: 'PodMetricsList', items });
  }

  get resourcePath(): string {
    const { resource } = this.harness.dialect.metricsGroups;
    return `${resource}/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb`;
  }

  controller(options: Partial<AutoscalerOptions> = {}, context = this.context): HorizontalPodAutoscalerController {
    return new HorizontalPodAutoscalerController(context, { ...defaultOptions, ...options });
  }

  /** Starts a controller and waits for the first reconcile. */
  async start(options: Partial<AutoscalerOptions> = {}): Promise<void> {
    await this.harness.start(this.controller(options));
    await this.harness.advance(options.syncPeriodMs ?? syncMs);
  }

  #answer(method: string, path: string, body: unknown): unknown {
    this.requests.push(`${method} ${path}`);
    if (path === '/apis') return { groups: this.groups };
    const below = path.replace(/^\/apis\//, '');
    const response = this.answers.get(`${method} ${below}`) ?? this.answers.get(below);
    if (response instanceof Error) throw response;
    if (response !== undefined) return response;
    const verbs = ['get'];
    if (path === '/apis/apps/v1') {
      return { resources: [{ name: 'deployments', kind: 'Deployment', namespaced: true, singularName: '', verbs }] };
    }
    if (path === '/api/v1') {
      return { resources: [{ name: 'services', kind: 'Service', namespaced: true, singularName: '', verbs }] };
    }
    const q = { group: 'apps', resource: 'deployments' };
    if (path.startsWith('/apis/apps/v1/namespaces/default/deployments/')) {
      if (!path.endsWith('/web/scale')) throw notFound(q, path.split('/').at(-2) ?? '');
      return method === 'PUT' ? this.#resize(body) : this.#scaleObject();
    }
    throw pathNotFound();
  }

  #resize(body: unknown): object {
    const { metadata, spec } = body as { metadata: { resourceVersion: string }; spec: { replicas: number } };
    if (metadata.resourceVersion !== String(this.scale.version)) {
      throw conflict({ group: 'apps', resource: 'deployments' }, 'web', 'changed');
    }
    this.scale.version += 1;
    this.scale.replicas = spec.replicas;
    this.written.push(spec.replicas);
    return this.#scaleObject();
  }

  #scaleObject(): object {
    const { replicas, status, version } = this.scale;
    return {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'web', namespace: 'default', resourceVersion: String(version) },
      spec: { replicas },
      status: structuredClone(status),
    };
  }
}

export function processor(averageUtilization: number): MetricSpec {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } };
}
