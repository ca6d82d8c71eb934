/** Counts the requests of the pod resources' service, as 1.24 names them. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { PlainCounter } from '#daemon/metrics/plain-series.js';

export class PodResourcesMetrics {
  readonly requests: PlainCounter;
  readonly lists: PlainCounter;
  readonly allocatableRequests: PlainCounter;
  readonly listErrors: PlainCounter;
  readonly allocatableErrors: PlainCounter;

  constructor(registry: Registry, { components: { nodeAgent: prefix } }: Dialect) {
    const counter = (name: string, help: string) =>
      new PlainCounter(registry, {
        name: `${prefix}_pod_resources_endpoint_${name}`,
        help: `[ALPHA] ${help}. Broken down by server api version.`,
        labelNames: ['server_api_version'],
      });
    this.requests = counter('requests_total', 'Cumulative number of requests to the PodResource endpoint');
    this.lists = counter('requests_list', 'Number of requests to the PodResource List endpoint');
    const allocatable = 'Number of requests to the PodResource GetAllocatableResources endpoint';
    this.allocatableRequests = counter('requests_get_allocatable', allocatable);
    this.listErrors = counter(
      'errors_list',
      'Number of requests to the PodResource List endpoint which returned error',
    );
    this.allocatableErrors = counter('errors_get_allocatable', `${allocatable} which returned error`);
  }
}
