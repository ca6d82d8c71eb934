/** Gives services of the type LoadBalancer a load balancer of the cloud provider, and takes it away again. */
import { nodes as nodeType, services as serviceType } from '#api/core/v1/resources.gen.js';
import type { LoadBalancerStatus, Node, Service, ServicePort } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, retry } from '#client/workqueue/outcome.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import { wantsLoadBalancer } from '#cloud/provider/balanced.js';
import type { LoadBalancers, ServiceCache } from '#cloud/provider/provider.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { NodeSync, noHosts } from '#controllers/service/node-sync.js';
import { edited, isHostChange, needsCleanup, type ServiceEdit } from '#controllers/service/plan.js';

/** As in 1.24. */
const retryMs = { first: 5000, longest: 300_000 };
const resyncMs = 30_000;

/** After somebody else was faster: the cache shows it before long. */
const pauseMs = 100;

export interface ServiceControllerOptions {
  readonly balancers: (services: ServiceCache) => LoadBalancers;
  /** `--cluster-name`. */
  readonly cluster: string;
  /** Services worked on at once. */
  readonly concurrency: number;
}

export class ServiceController implements Controller {
  readonly name = 'service';
  readonly #context: ControllerContext;
  readonly #cluster: string;
  readonly #services: Informer<Service>;
  readonly #nodes: Informer<Node>;
  readonly #balancers: LoadBalancers;
  readonly #nodeSync: NodeSync;
  readonly #loop: ReconcileLoop;
  /** Services that have load balancers, or are to have some, as they were last seen; by key. */
  readonly #known = new Map<string, Service>();
  /** Keys of services whose load balancers are being made; what is told at the beginning is told once. */
  readonly #begun = new Set<string>();

  constructor(context: ControllerContext, { balancers, cluster, concurrency }: ServiceControllerOptions) {
    this.#context = context;
    this.#cluster = cluster;
    this.#services = sharedInformer(context.informers, serviceType);
    this.#nodes = sharedInformer(context.informers, nodeType);
    this.#balancers = balancers(this.#services);
    this.#nodeSync = new NodeSync(context, {
      nodes: this.#nodes,
      balancers: this.#balancers,
      cluster,
      concurrency,
      services: () => this.#known.values(),
    });
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency,
      reconcile: (key) => this.#reconcile(key),
      rateLimiter: new ItemExponentialRateLimiter(retryMs.first, retryMs.longest),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    const { events, dialect } = this.#context;
    const isOver = (service: Service) => needsCleanup(service, dialect.finalizers.loadBalancerCleanup);
    const trigger = () => this.#nodeSync.trigger();
    const watches = [
      this.#services.addHandler(
        {
          onAdd: (service) => {
            // Also for what a controller that ended in the middle of its work left behind.
            if (wantsLoadBalancer(service) || isOver(service)) queue.add(keyOf(service));
          },
          onUpdate: (service, old) => {
            const change = changeOf(old, service);
            if (change?.event !== undefined) events.record(service, 'Normal', ...change.event);
            if (change !== undefined || isOver(service)) queue.add(keyOf(service));
          },
          onDelete: (service) => {
            if (this.#known.has(keyOf(service))) queue.add(keyOf(service));
          },
        },
        { resyncMs },
      ),
      this.#nodes.addHandler({
        onAdd: trigger,
        onUpdate: (node, old) => {
          if (isHostChange(old, node)) trigger();
        },
        onDelete: trigger,
      }),
    ];
    await Promise.all([this.#loop.run(signal, watches), this.#nodeSync.run(signal)]);
  }

  async #reconcile(key: string): Promise<Outcome> {
    const service = this.#services.get(key);
    const known = this.#known.get(key);
    if (known !== undefined && known.metadata.uid !== service?.metadata.uid) await this.#deleted(key, known);
    if (service === undefined) return done;
    this.#known.set(key, service);
    try {
      const isWanted = wantsLoadBalancer(service);
      if (isWanted && !needsCleanup(service, this.#finalizer)) return await this.#ensure(key, service);
      await this.#remove(key, service);
      return done;
    } catch (error) {
      if (isConflict(error)) return { kind: 'wait', ms: pauseMs };
      if (isNotFound(error)) return done;
      this.#begun.delete(key);
      this.#warn(service, 'SyncLoadBalancerFailed', `Error syncing load balancer: ${messageOf(error)}`);
      return retry(error);
    }
  }

  get #finalizer(): string {
    return this.#context.dialect.finalizers.loadBalancerCleanup;
  }

  async #ensure(key: string, cached: Service): Promise<Outcome> {
    const hosts = this.#nodeSync.hosts();
    if (!this.#begun.has(key)) {
      this.#begun.add(key);
      this.#tell(cached, 'EnsuringLoadBalancer', 'Ensuring load balancer');
      if (hosts.length === 0) this.#warn(cached, 'UnAvailableLoadBalancer', noHosts);
    }
    // Before there is anything to clean up, so that nothing is ever left.
    const own = (cached.metadata.finalizers ?? []).filter((each) => each !== this.#finalizer);
    const add = () => this.#write(key, cached, { finalizers: [...own, this.#finalizer] });
    const service = await failingAs('failed to add load balancer cleanup finalizer', add);
    const make = () => this.#balancers.ensure(this.#cluster, service, hosts);
    const ensured = await failingAs('failed to ensure load balancer', make);
    if (ensured.kind === 'wait') return { kind: 'wait', ms: pauseMs };
    if (ensured.kind === 'note') {
      const note = () => this.#write(key, service, { annotations: ensured.annotations });
      await failingAs('failed to ensure load balancer', note);
      // Its annotations are the load balancer's business: the event of their change calls again.
      return done;
    }
    const publish = () => this.#write(key, service, { loadBalancer: ensured.status });
    await failingAs('failed to update load balancer status', publish);
    this.#begun.delete(key);
    this.#tell(service, 'EnsuredLoadBalancer', 'Ensured load balancer');
    return done;
  }

  async #remove(key: string, service: Service): Promise<void> {
    const look = () => this.#balancers.get(this.#cluster, service);
    const found = await failingAs('failed to check if load balancer exists before cleanup', look);
    let edit: ServiceEdit = { loadBalancer: nothing };
    if (found !== undefined) {
      this.#tell(service, 'DeletingLoadBalancer', 'Deleting load balancer');
      const remove = () => this.#balancers.ensureDeleted(this.#cluster, service);
      edit = { ...edit, annotations: await failingAs('failed to delete load balancer', remove) };
    }
    const finalizers = service.metadata.finalizers?.filter((each) => each !== this.#finalizer) ?? [];
    try {
      const release = () => this.#write(key, service, { ...edit, finalizers });
      await failingAs('failed to update load balancer status', release);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#loop.written.deleted(key, this.#services, service);
    }
    this.#known.delete(key);
    this.#begun.delete(key);
    this.#tell(service, 'DeletedLoadBalancer', 'Deleted load balancer');
  }

  /** The service went without its finalizer, which somebody has taken away. */
  async #deleted(key: string, service: Service): Promise<void> {
    if (wantsLoadBalancer(service)) {
      this.#tell(service, 'DeletingLoadBalancer', 'Deleting load balancer');
      try {
        await this.#balancers.ensureDeleted(this.#cluster, service);
      } catch (error) {
        this.#warn(service, 'DeleteLoadBalancerFailed', `Error deleting load balancer: ${messageOf(error)}`);
        throw error;
      }
      this.#tell(service, 'DeletedLoadBalancer', 'Deleted load balancer');
    }
    this.#known.delete(key);
    this.#begun.delete(key);
  }

  /** Fails with a conflict when the service has changed meanwhile: what was decided was decided about this version. */
  async #write(key: string, service: Service, edit: ServiceEdit): Promise<Service> {
    const next = edited(service, edit);
    if (next === undefined) return service;
    const answer = await this.#context.client.resource(serviceType).updateStatus(next);
    this.#loop.written.wrote(key, this.#services, answer);
    return answer;
  }

  #tell(service: Service, reason: string, message: string): void {
    this.#context.events.record(service, 'Normal', reason, message);
  }

  #warn(service: Service, reason: string, message: string): void {
    this.#context.events.record(service, 'Warning', reason, message);
  }
}

const nothing: LoadBalancerStatus = {};

/** Says what failed, except where that says nothing about the load balancer. */
async function failingAs<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) throw error;
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  }
}

interface ServiceChange {
  /** Reason and message of the event; absent: none is told. */
  readonly event?: readonly [reason: string, message: string];
}

/**
 * The first change of a service that the load balancer must follow, as 1.24 tells of it; undefined when there is none.
 * Pure.
 */
export function changeOf(old: Service, service: Service): ServiceChange | undefined {
  const [wanted, wants] = [wantsLoadBalancer(old), wantsLoadBalancer(service)];
  if (!wanted && !wants) return undefined;
  const [before, now] = [old.spec, service.spec];
  if (wanted !== wants) return told('Type', before.type, now.type);
  const ranges = [before.loadBalancerSourceRanges ?? [], now.loadBalancerSourceRanges ?? []] as const;
  if (wants && !semanticEqual(...ranges)) {
    const [from, to] = ranges.map((range) => `[${range.join(' ')}]`);
    return told('LoadBalancerSourceRanges', from, to);
  }
  if (!semanticEqual(portsOf(old), portsOf(service))) return {};
  if (before.sessionAffinity !== now.sessionAffinity) return {};
  if (!semanticEqual(before.sessionAffinityConfig, now.sessionAffinityConfig)) return {};
  if ((before.loadBalancerIP ?? '') !== (now.loadBalancerIP ?? '')) {
    return told('LoadbalancerIP', before.loadBalancerIP, now.loadBalancerIP);
  }
  const [oldIPs, ips] = [before.externalIPs ?? [], now.externalIPs ?? []];
  if (oldIPs.length !== ips.length) return counted('ExternalIP', oldIPs, ips);
  const added = ips.find((ip, i) => ip !== oldIPs[i]);
  if (added !== undefined) return { event: ['ExternalIP', `Added: ${added}`] };
  if (!semanticEqual(old.metadata.annotations ?? {}, service.metadata.annotations ?? {})) return {};
  if (old.metadata.uid !== service.metadata.uid) return told('UID', old.metadata.uid, service.metadata.uid);
  for (const [reason, field] of policies) {
    if (before[field] !== now[field]) return told(reason, before[field], now[field]);
  }
  // Families are added and taken away, never exchanged.
  const [oldFamilies, families] = [before.ipFamilies ?? [], now.ipFamilies ?? []];
  return oldFamilies.length === families.length ? undefined : counted('IPFamilies', oldFamilies, families);
}

const policies = [
  ['ExternalTrafficPolicy', 'externalTrafficPolicy'],
  ['HealthCheckNodePort', 'healthCheckNodePort'],
] as const;

function told(reason: string, from: string | number | undefined, to: string | number | undefined): ServiceChange {
  return { event: [reason, `${from ?? ''} -> ${to ?? ''}`] };
}

function counted(reason: string, from: readonly string[], to: readonly string[]): ServiceChange {
  return { event: [reason, `Count: ${from.length} -> ${to.length}`] };
}

/** What of its ports a load balancer has to do with. */
function portsOf({ spec }: Service): ServicePort[] {
  return (spec.ports ?? []).map(({ appProtocol: _, ...port }) => port);
}
