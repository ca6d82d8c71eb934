/** Creates and deletes the cloud provider's load balancers for services of type LoadBalancer. */
import { nodes as nodeType, services as serviceType } from '#api/core/v1/resources.gen.js';
import type { LoadBalancerStatus, Node, Service, ServicePort } from '#api/core/v1/types.gen.js';
import { semanticEqual } from '#apimachinery/equality.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { isConflict, isNotFound } from '#apimachinery/errors/status.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { Informer } from '#client/informer/informer.js';
import { done, type Outcome, retry } from '#client/workqueue/outcome.js';
import { ItemExponentialRateLimiter } from '#client/workqueue/rate-limiter.js';
import { wantsLoadBalancer } from '#cloud/provider/load-balancing.js';
import type { LoadBalancers, ServiceCache } from '#cloud/provider/provider.js';
import type { Controller, ControllerContext } from '#controllers/framework/context.js';
import { sharedInformer } from '#controllers/framework/informers.js';
import { ReconcileLoop } from '#controllers/framework/loop.js';
import { NodeSync, noHosts } from '#controllers/service/node-sync.js';
import { edited, isHostChange, needsCleanup, type ServiceEdit } from '#controllers/service/plan.js';

/** As in 1.24. */
const retryMs = { min: 5000, max: 300_000 };
const resyncMs = 30_000;

/** The pause after a conflict, until the cache shows the other write. */
const pauseMs = 100;

export interface ServiceControllerOptions {
  readonly balancers: (services: ServiceCache) => LoadBalancers;
  /** `--cluster-name`. */
  readonly cluster: string;
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
  /** The last version of each service that has or needs a load balancer, by key. */
  readonly #balanced = new Map<string, Service>();
  /** Keys of services whose load balancers are being ensured, so that the first events are recorded once. */
  readonly #ensuring = new Set<string>();

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
      services: () => this.#balanced.values(),
    });
    this.#loop = new ReconcileLoop(context, {
      name: this.name,
      concurrency,
      reconcile: (key) => this.#reconcile(key),
      rateLimiter: new ItemExponentialRateLimiter(retryMs.min, retryMs.max),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#loop;
    const { events, dialect } = this.#context;
    const mustCleanUp = (service: Service) => needsCleanup(service, dialect.finalizers.loadBalancerCleanup);
    const trigger = () => this.#nodeSync.trigger();
    const watches = [
      this.#services.addHandler(
        {
          onAdd: (service) => {
            // A service that needs cleanup may remain from an interrupted controller.
            if (wantsLoadBalancer(service) || mustCleanUp(service)) queue.add(keyOf(service));
          },
          onUpdate: (service, old) => {
            const change = changeOf(old, service);
            if (change?.event !== undefined) events.record(service, 'Normal', ...change.event);
            if (change !== undefined || mustCleanUp(service)) queue.add(keyOf(service));
          },
          onDelete: (service) => {
            if (this.#balanced.has(keyOf(service))) queue.add(keyOf(service));
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
    const old = this.#balanced.get(key);
    if (old !== undefined && old.metadata.uid !== service?.metadata.uid) await this.#cleanUpDeleted(key, old);
    if (service === undefined) return done;
    this.#balanced.set(key, service);
    try {
      const isBalanced = wantsLoadBalancer(service);
      if (isBalanced && !needsCleanup(service, this.#finalizer)) return await this.#ensure(key, service);
      await this.#remove(key, service);
      return done;
    } catch (error) {
      if (isConflict(error)) return { kind: 'wait', ms: pauseMs };
      if (isNotFound(error)) return done;
      this.#ensuring.delete(key);
      this.#warn(service, 'SyncLoadBalancerFailed', `Error syncing load balancer: ${messageOf(error)}`);
      return retry(error);
    }
  }

  get #finalizer(): string {
    return this.#context.dialect.finalizers.loadBalancerCleanup;
  }

  async #ensure(key: string, cached: Service): Promise<Outcome> {
    const hosts = this.#nodeSync.hosts();
    if (!this.#ensuring.has(key)) {
      this.#ensuring.add(key);
      this.#record(cached, 'EnsuringLoadBalancer', 'Ensuring load balancer');
      if (hosts.length === 0) this.#warn(cached, 'UnAvailableLoadBalancer', noHosts);
    }
    // Add the finalizer before the load balancer exists, so that it is always cleaned up.
    const own = (cached.metadata.finalizers ?? []).filter((each) => each !== this.#finalizer);
    const add = () => this.#write(key, cached, { finalizers: [...own, this.#finalizer] });
    const service = await failingAs('failed to add load balancer cleanup finalizer', add);
    const ensure = () => this.#balancers.ensure(this.#cluster, service, hosts);
    const ensured = await failingAs('failed to ensure load balancer', ensure);
    if (ensured.kind === 'wait') return { kind: 'wait', ms: pauseMs };
    if (ensured.kind === 'annotate') {
      const annotate = () => this.#write(key, service, { annotations: ensured.annotations });
      await failingAs('failed to ensure load balancer', annotate);
      // The change of annotations enqueues the service again.
      return done;
    }
    const publish = () => this.#write(key, service, { loadBalancer: ensured.status });
    await failingAs('failed to update load balancer status', publish);
    this.#ensuring.delete(key);
    this.#record(service, 'EnsuredLoadBalancer', 'Ensured load balancer');
    return done;
  }

  async #remove(key: string, service: Service): Promise<void> {
    const read = () => this.#balancers.get(this.#cluster, service);
    const existing = await failingAs('failed to check if load balancer exists before cleanup', read);
    let edit: ServiceEdit = { loadBalancer: emptyStatus };
    if (existing !== undefined) {
      this.#record(service, 'DeletingLoadBalancer', 'Deleting load balancer');
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
    this.#balanced.delete(key);
    this.#ensuring.delete(key);
    this.#record(service, 'DeletedLoadBalancer', 'Deleted load balancer');
  }

  /** Handles a deleted service whose finalizer a client had removed. */
  async #cleanUpDeleted(key: string, service: Service): Promise<void> {
    if (wantsLoadBalancer(service)) {
      this.#record(service, 'DeletingLoadBalancer', 'Deleting load balancer');
      try {
        await this.#balancers.ensureDeleted(this.#cluster, service);
      } catch (error) {
        this.#warn(service, 'DeleteLoadBalancerFailed', `Error deleting load balancer: ${messageOf(error)}`);
        throw error;
      }
      this.#record(service, 'DeletedLoadBalancer', 'Deleted load balancer');
    }
    this.#balanced.delete(key);
    this.#ensuring.delete(key);
  }

  /** Throws 409 when the service has changed since the decision. */
  async #write(key: string, service: Service, edit: ServiceEdit): Promise<Service> {
    const next = edited(service, edit);
    if (next === undefined) return service;
    const updated = await this.#context.client.resource(serviceType).updateStatus(next);
    this.#loop.written.wrote(key, this.#services, updated);
    return updated;
  }

  #record(service: Service, reason: string, message: string): void {
    this.#context.events.record(service, 'Normal', reason, message);
  }

  #warn(service: Service, reason: string, message: string): void {
    this.#context.events.record(service, 'Warning', reason, message);
  }
}

const emptyStatus: LoadBalancerStatus = {};

/** Adds the prefix `what` to errors, except for conflicts and missing objects. */
async function failingAs<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) throw error;
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  }
}

interface ServiceChange {
  /** Absent when no event is recorded. */
  readonly event?: readonly [reason: string, message: string];
}

/** The first change that affects the load balancer, with the event of 1.24; undefined when there is none. Pure. */
export function changeOf(old: Service, service: Service): ServiceChange | undefined {
  const [wasBalanced, isBalanced] = [wantsLoadBalancer(old), wantsLoadBalancer(service)];
  if (!wasBalanced && !isBalanced) return undefined;
  const [before, now] = [old.spec, service.spec];
  if (wasBalanced !== isBalanced) return valueChange('Type', before.type, now.type);
  const ranges = [before.loadBalancerSourceRanges ?? [], now.loadBalancerSourceRanges ?? []] as const;
  if (isBalanced && !semanticEqual(...ranges)) {
    const [from, to] = ranges.map((range) => `[${range.join(' ')}]`);
    return valueChange('LoadBalancerSourceRanges', from, to);
  }
  if (!semanticEqual(portsOf(old), portsOf(service))) return {};
  if (before.sessionAffinity !== now.sessionAffinity) return {};
  if (!semanticEqual(before.sessionAffinityConfig, now.sessionAffinityConfig)) return {};
  if ((before.loadBalancerIP ?? '') !== (now.loadBalancerIP ?? '')) {
    return valueChange('LoadbalancerIP', before.loadBalancerIP, now.loadBalancerIP);
  }
  const [oldIPs, ips] = [before.externalIPs ?? [], now.externalIPs ?? []];
  if (oldIPs.length !== ips.length) return countChange('ExternalIP', oldIPs, ips);
  const added = ips.find((ip, i) => ip !== oldIPs[i]);
  if (added !== undefined) return { event: ['ExternalIP', `Added: ${added}`] };
  if (!semanticEqual(old.metadata.annotations ?? {}, service.metadata.annotations ?? {})) return {};
  if (old.metadata.uid !== service.metadata.uid) return valueChange('UID', old.metadata.uid, service.metadata.uid);
  for (const [reason, field] of policies) {
    if (before[field] !== now[field]) return valueChange(reason, before[field], now[field]);
  }
  // Families are only added or removed, never replaced.
  const [oldFamilies, families] = [before.ipFamilies ?? [], now.ipFamilies ?? []];
  return oldFamilies.length === families.length ? undefined : countChange('IPFamilies', oldFamilies, families);
}

const policies = [
  ['ExternalTrafficPolicy', 'externalTrafficPolicy'],
  ['HealthCheckNodePort', 'healthCheckNodePort'],
] as const;

function valueChange(
  reason: string,
  from: string | number | undefined,
  to: string | number | undefined,
): ServiceChange {
  return { event: [reason, `${from ?? ''} -> ${to ?? ''}`] };
}

function countChange(reason: string, from: readonly string[], to: readonly string[]): ServiceChange {
  return { event: [reason, `Count: ${from.length} -> ${to.length}`] };
}

/** The parts of the ports that affect a load balancer. */
function portsOf({ spec }: Service): ServicePort[] {
  return (spec.ports ?? []).map(({ appProtocol: _, ...port }) => port);
}
