/** The interface of cloud providers, as in 1.24. Each part is optional; without it, its controller is not started. */
import type { LoadBalancerStatus, Node, NodeAddress, Service } from '#api/core/v1/types.gen.js';

export interface CloudProvider {
  /** As in `--cloud-provider`. */
  readonly name: string;
  /** Called each time a controller starts. */
  readonly loadBalancers?: (services: ServiceCache) => LoadBalancers;
  readonly instances?: Instances;
  readonly routes?: Routes;
}

export interface ServiceCache {
  addIndexers(indexers: Record<string, (service: Service) => readonly string[]>): void;
  byIndex(index: string, value: string): Service[];
}

/** Annotations to write to a service, by name; undefined removes the annotation. */
export type Annotations = Readonly<Record<string, string | undefined>>;

/** The result of `LoadBalancers.ensure`. */
export type Ensured =
  /** The load balancer exists. Write the status only to the version of the service that was passed. */
  | { readonly kind: 'ready'; readonly status: LoadBalancerStatus }
  /** Write these annotations first, and call `ensure` again when the caches show them. */
  | { readonly kind: 'annotate'; readonly annotations: Annotations }
  /** Another service must release its claim first; call `ensure` again soon. */
  | { readonly kind: 'wait' };

/** All methods throw on failure; the controller retries. Calls for one service never overlap. */
export interface LoadBalancers {
  /** Undefined when the service has no load balancer. */
  get(cluster: string, service: Service): Promise<LoadBalancerStatus | undefined>;
  /** Creates or updates the load balancer. `nodes` may receive its traffic. */
  ensure(cluster: string, service: Service, nodes: readonly Node[]): Promise<Ensured>;
  /** Changes the nodes that receive its traffic. */
  update(cluster: string, service: Service, nodes: readonly Node[]): Promise<void>;
  /** Deletes the load balancer. The controller then writes these annotations and clears the service's status. */
  ensureDeleted(cluster: string, service: Service): Promise<Annotations>;
}

/** The machines of nodes. All methods throw when the provider cannot answer. */
export interface Instances {
  exists(node: Node): Promise<boolean>;
  /** Whether the machine exists but is switched off. */
  isShutdown(node: Node): Promise<boolean>;
  /** Undefined when the machine does not exist. */
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
  /** Empty when the provider knows no node for the route. */
  readonly targetNode: string;
  readonly destinationCIDR: string;
  /** True when the target no longer exists. */
  readonly blackhole?: boolean;
}

export interface Routes {
  list(cluster: string): Promise<readonly Route[]>;
  /** `nameHint` may be part of the name; it is the same for all routes of a node. */
  create(cluster: string, nameHint: string, route: Omit<Route, 'name'>): Promise<void>;
  delete(cluster: string, route: Route): Promise<void>;
}
