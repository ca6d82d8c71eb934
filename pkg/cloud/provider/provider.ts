/**
 * What a cluster asks of the place that its machines are in, as release 1.24 asks it. A provider implements what it
 * can; the controllers of what it lacks are not started.
 */
import type { LoadBalancerStatus, Node, NodeAddress, Service } from '#api/core/v1/types.gen.js';

export interface CloudProvider {
  /** As in `--cloud-provider`. */
  readonly name: string;
  /** Made anew whenever a controller begins. */
  readonly loadBalancers?: (services: ServiceCache) => LoadBalancers;
  readonly instances?: Instances;
  readonly routes?: Routes;
}

/** All services, as far as they are known. */
export interface ServiceCache {
  addIndexers(indexers: Record<string, (service: Service) => readonly string[]>): void;
  byIndex(index: string, value: string): Service[];
}

/** What must be written to a service: annotations by name, undefined to take one away. */
export type Annotations = Readonly<Record<string, string | undefined>>;

/** What became of asking for a load balancer. */
export type Ensured =
  /** It is there, at these addresses. Holds only for the version of the service that was asked about. */
  | { readonly kind: 'ready'; readonly status: LoadBalancerStatus }
  /** The service must bear these annotations first; the provider is asked again when the caches show them. */
  | { readonly kind: 'note'; readonly annotations: Annotations }
  /** Something else must happen first, which will before long; the provider is asked again. */
  | { readonly kind: 'wait' };

/** All throw what went wrong; the controller tries again. A service is never worked on twice at the same time. */
export interface LoadBalancers {
  /** Undefined when the service has none. */
  get(cluster: string, service: Service): Promise<LoadBalancerStatus | undefined>;
  /** Makes it, or makes it what the service says now. `nodes`: those that may take its traffic. */
  ensure(cluster: string, service: Service, nodes: readonly Node[]): Promise<Ensured>;
  /** Other nodes take its traffic now. */
  update(cluster: string, service: Service, nodes: readonly Node[]): Promise<void>;
  /** Nothing is left of it afterwards, once the service bears these annotations and no status of it. */
  ensureDeleted(cluster: string, service: Service): Promise<Annotations>;
}

/** The machines of nodes. All throw where the provider cannot tell. */
export interface Instances {
  exists(node: Node): Promise<boolean>;
  /** Whether it is there, but switched off. */
  isShutdown(node: Node): Promise<boolean>;
  /** Undefined when there is no such machine. */
  metadata(node: Node): Promise<InstanceMetadata | undefined>;
}

export interface InstanceMetadata {
  /** `provider://machine`. */
  readonly providerID: string;
  readonly instanceType?: string;
  readonly addresses: readonly NodeAddress[];
  readonly zone?: string;
  readonly region?: string;
}

/** A route to the pods of a node. */
export interface Route {
  /** Chosen by the provider. */
  readonly name: string;
  /** Empty: of nobody that the provider knows. */
  readonly targetNode: string;
  readonly destinationCIDR: string;
  /** Leads nowhere any more. */
  readonly blackhole?: boolean;
}

export interface Routes {
  list(cluster: string): Promise<readonly Route[]>;
  /** `nameHint`: what the name may be made of; the same for all routes of a node. */
  create(cluster: string, nameHint: string, route: Omit<Route, 'name'>): Promise<void>;
  delete(cluster: string, route: Route): Promise<void>;
}
