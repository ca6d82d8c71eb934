/** The allocation of cluster IPs and node ports. */
import type { Registry } from 'prom-client';
import type { Dialect } from '#apimachinery/dialect.js';
import { IpRange } from '#apiserver/allocators/ip-range.js';
import { NodePortRange } from '#apiserver/allocators/node-port-range.js';
import { clusterIPMetrics, type RangeMetrics } from '#apiserver/allocators/range-metrics.js';
import { RangeRegistry, reservedPart } from '#apiserver/allocators/range-registry.js';
import { ServiceAllocator, type ServiceAllocatorOptions } from '#apiserver/allocators/service-allocator.js';
import { forOption } from '#apiserver/build/option-files.js';
import { etcdRoot } from '#apiserver/options/etcd.js';
import type { ApiServerValues } from '#apiserver/options/options.js';
import { OptionsError } from '#daemon/options/option.js';
import type { Store } from '#storage/store.js';

export interface ServiceNetwork {
  readonly allocator: ServiceAllocator;
  readonly options: ServiceAllocatorOptions;
  /** Cluster IP of the API's own Service: the first address of the primary range. */
  readonly apiServiceIP: string;
}

const defaultRange = '10.0.0.0/24';
const maxFamilies = 2;

export interface ServiceNetworkSetup {
  readonly values: ApiServerValues;
  readonly store: Store;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly dialect: Dialect;
  readonly metrics: Registry;
}

/** Throws OptionsError. */
export function buildServiceNetwork(setup: ServiceNetworkSetup): ServiceNetwork {
  const { values, store, random, dialect, metrics } = setup;
  const option = 'service-cluster-ip-range';
  const text = values[option] ?? '';
  const ranges = (text === '' ? defaultRange : text)
    .split(',')
    .map((cidr) => forOption(option, () => new IpRange(cidr.trim())));
  const families = new Set(ranges.map(({ family }) => family));
  if (ranges.length > maxFamilies || families.size < ranges.length)
    throw new OptionsError([`--${option}: must be one CIDR, or two of different families`]);
  const registry = (name: string, range: string, size: number, rangeMetrics?: RangeMetrics) => {
    const key = `${etcdRoot(values['etcd-prefix'])}/ranges/${name}`;
    const reserved = reservedPart(size);
    return new RangeRegistry({
      store,
      key,
      range,
      size,
      random,
      reserved,
      ...(rangeMetrics && { metrics: rangeMetrics }),
    });
  };
  const ports = forOption('service-node-port-range', () => new NodePortRange(values['service-node-port-range']));
  const options: ServiceAllocatorOptions = {
    ips: ranges.map((range, i) => ({
      range,
      registry: registry(
        i === 0 ? 'serviceips' : 'secondaryserviceips',
        range.cidr,
        range.size,
        clusterIPMetrics(metrics, dialect, range.cidr),
      ),
    })),
    nodePorts: {
      range: ports,
      registry: registry('servicenodeports', `${ports.first}-${ports.last}`, ports.size),
    },
  };
  return { options, allocator: new ServiceAllocator(options), apiServiceIP: ranges[0]?.at(0) ?? '' };
}
