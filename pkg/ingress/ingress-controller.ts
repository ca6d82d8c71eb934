/**
 * The ingress controller: accepts requests on two ports and forwards them to services as Ingresses define. Without the
 * API server it continues with its last data.
 */
import type { Registry } from 'prom-client';
import { secrets, services } from '#api/core/v1/resources.gen.js';
import type { Service } from '#api/core/v1/types.gen.js';
import { trimEndpointSlice } from '#api/discovery/v1/endpointslice/trim.js';
import { endpointslices } from '#api/discovery/v1/resources.gen.js';
import { ingressclasses, ingresses } from '#api/networking/v1/resources.gen.js';
import { aborted } from '#apimachinery/async/abort.js';
import type { Clock, Timer } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { blockContains, type IPBlock } from '#apimachinery/net/ip.js';
import { keyOf } from '#apimachinery/object-key.js';
import type { ApiObject } from '#client/client.js';
import type { EventRecorder } from '#client/events/recorder.js';
import type { Informer, InformerFactory } from '#client/informer/informer.js';
import type { Daemon } from '#daemon/daemon.js';
import { Lifetime } from '#daemon/lifetime.js';
import type { Logger } from '#daemon/log/logger.js';
import { Endpoints } from '#ingress/endpoints/endpoints.js';
import type { IngressProxy } from '#ingress/http/ingress-proxy.js';
import { ClientConnections, IngressServer } from '#ingress/http/ingress-server.js';
import type { IngressLimits } from '#ingress/http/limits.js';
import { IngressMetrics } from '#ingress/metrics/ingress-metrics.js';
import { Certificates } from '#ingress/routing/certificates.js';
import { type Plan, planRoutes } from '#ingress/routing/plan.js';
import { ProblemEvents } from '#ingress/status/problem-events.js';
import { StatusWriter, statusAddresses } from '#ingress/status/status-writer.js';
import { createSelfSigned } from '#pki/self-signed.js';

export interface IngressControllerOptions {
  /** Started and stopped by the caller. */
  readonly informers: InformerFactory;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  /** Returns [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly limits: IngressLimits;
  /** Address to listen on; empty: all. */
  readonly address: string;
  /** 0: any free port; undefined: none. */
  readonly httpPort: number | undefined;
  readonly httpsPort: number | undefined;
  /** Redirect clients of hosts with TLS from HTTP to HTTPS. */
  readonly redirects: boolean;
  /** HTTPS port for clients, if different. */
  readonly publishedHttpsPort?: number | undefined;
  /** Addresses and host names for the status of Ingresses; empty: the status is not written. */
  readonly publishedAddresses: readonly string[];
  /** Alternative: a service (`namespace/name`) with a load balancer that has the addresses. */
  readonly publishedService?: string | undefined;
  readonly trustedProxies: readonly IPBlock[];
}

/** Changes are collected for this long. */
const collectMs = 50;
/** Pause before an unavailable port is tried again. */
const retryMs = 2000;

export class IngressController implements Daemon {
  readonly name = 'ingress';
  readonly #options: IngressControllerOptions;
  readonly #ingresses;
  readonly #classes;
  readonly #services;
  readonly #secrets;
  readonly #endpoints: Endpoints;
  readonly #certificates = new Certificates();
  readonly #metrics: IngressMetrics;
  readonly #problems: ProblemEvents;
  readonly #status: StatusWriter;
  readonly #connections: ClientConnections;
  readonly #slices;
  readonly #life = new Lifetime('the ingress controller');
  #server: IngressServer | undefined;
  #proxy: IngressProxy | undefined;
  #plan: Plan | undefined;
  #timer: Timer | undefined;

  constructor(options: IngressControllerOptions) {
    const { clock, informers, limits, log, metrics, random, recorder, trustedProxies } = options;
    const { client } = informers;
    this.#options = options;
    this.#ingresses = informers.informer(ingresses);
    this.#classes = informers.informer(ingressclasses);
    this.#services = informers.informer(services, { transform: keepPorts });
    this.#slices = informers.informer(endpointslices, { transform: trimEndpointSlice });
    // Watches TLS secrets only.
    this.#secrets = informers.informer(secrets, { fieldSelector: `type=${client.dialect.secretTypes.tls}` });
    this.#endpoints = new Endpoints(this.#slices, client.dialect.labels.serviceName);
    this.#metrics = new IngressMetrics(metrics);
    this.#problems = new ProblemEvents(clock, recorder);
    this.#status = new StatusWriter({ client, clock, log, random });
    this.#connections = new ClientConnections({
      limits,
      metrics: this.#metrics,
      isTrusted: (address) => trustedProxies.some((block) => blockContains(block, address)),
    });
  }

  /** Bound ports, once ready. */
  get ports(): { readonly http: number | undefined; readonly https: number | undefined } {
    return { http: this.#server?.port('http'), https: this.#server?.port('https') };
  }

  start(signal: AbortSignal): Promise<void> {
    return this.#life.run(signal, (stopping) => this.#run(stopping));
  }

  /** Ready when it listens and all rules are loaded. */
  ready(): Promise<void> {
    return this.#life.ready();
  }

  close(): Promise<void> {
    return this.#life.close();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const ends = this.#follow();
    try {
      const synced = [this.#ingresses, this.#classes, this.#services, this.#slices, this.#secrets].map((informer) =>
        informer.whenSynced(),
      );
      await Promise.race([Promise.all(synced), aborted(signal)]);
      if (signal.aborted) return;
      this.#replan();
      if (!(await this.#listen(signal))) return;
      this.#life.becameReady();
      await aborted(signal);
    } finally {
      for (const end of ends) end();
      this.#timer?.cancel();
      this.#problems.close();
      await this.#server?.close();
      this.#connections.destroy();
      await this.#proxy?.close();
      await this.#status.close();
    }
  }

  /** Plans again when an object that the plan depends on changes. */
  #follow(): (() => void)[] {
    const { publishedService } = this.#options;
    const isNamed = (names: 'services' | 'secrets') => (object: ApiObject) =>
      this.#plan?.[names].has(keyOf(object)) === true || (names === 'services' && keyOf(object) === publishedService);
    return [
      follow(this.#ingresses, () => true, this.#changed),
      follow(this.#classes, () => true, this.#changed),
      follow(this.#services, isNamed('services'), this.#changed),
      follow(this.#secrets, isNamed('secrets'), this.#changed),
      this.#endpoints.follow(),
    ];
  }

  readonly #changed = (): void => {
    if (this.#plan === undefined || this.#life.isStopping) return;
    this.#timer ??= this.#options.clock.setTimer(() => {
      this.#timer = undefined;
      this.#replan();
    }, collectMs);
  };

  #replan(): void {
    const { log } = this.#options;
    const plan = planRoutes({
      dialect: this.#options.informers.client.dialect,
      ingresses: this.#ingresses.list(),
      classes: this.#classes.list(),
      service: (key) => this.#services.get(key),
      secret: (key) => this.#secrets.get(key),
      whyUnusable: (secret) => this.#certificates.whyUnusable(secret),
    });
    this.#plan = plan;
    this.#endpoints.retain(plan.backends);
    this.#metrics.problems.set(plan.problems.length);
    this.#problems.update(plan.problems);
    this.#metrics.retain(new Set(plan.ingresses.map(keyOf)));
    const addresses = this.#publishedAddresses();
    if (addresses !== undefined) this.#status.update(plan.ingresses, statusAddresses(addresses));
    log.debug({ ingresses: plan.ingresses.length, problems: plan.problems.length }, 'applied Ingress rules');
  }

  /** Undefined if not configured. */
  #publishedAddresses(): readonly string[] | undefined {
    const { publishedAddresses, publishedService } = this.#options;
    if (publishedService === undefined) return publishedAddresses.length === 0 ? undefined : publishedAddresses;
    const balancer = this.#services.get(publishedService)?.status?.loadBalancer?.ingress;
    return balancer?.flatMap(({ hostname, ip }) => ip ?? hostname ?? []) ?? [];
  }

  #securePort(): number | undefined {
    const { publishedHttpsPort, redirects } = this.#options;
    return redirects ? (publishedHttpsPort ?? this.#server?.port('https')) : undefined;
  }

  /** False if the signal aborted first. */
  async #listen(signal: AbortSignal): Promise<boolean> {
    const { address, clock, httpPort, httpsPort, limits, log, random, trustedProxies } = this.#options;
    // Loaded late: the proxy is large, and most processes that could host a controller do not.
    const { IngressProxy } = await import('#ingress/http/ingress-proxy.js');
    const selfSigned = await createSelfSigned({ commonName: this.name, names: [], ips: [], now: clock.now() });
    this.#proxy = new IngressProxy({
      ...{ clock, limits, log, random, trustedProxies },
      metrics: this.#metrics,
      securePort: () => this.#securePort(),
      route: (host, path) => this.#plan?.routes.find(host, path),
      endpoints: (backend) => this.#endpoints.of(backend),
    });
    const server = new IngressServer({
      ...{ address, clock, httpPort, httpsPort, limits, log },
      connections: this.#connections,
      fallback: selfSigned,
      certificate: (host) => this.#plan && this.#certificates.pairFor(host, this.#plan.certificates),
      proxy: this.#proxy,
    });
    let lastError = '';
    while (!signal.aborted) {
      try {
        await server.listen();
        this.#server = server;
        return true;
      } catch (error) {
        // A previous controller may still hold the port.
        if (messageOf(error) !== lastError) log.error({ err: error }, 'cannot listen on an Ingress port; retrying');
        lastError = messageOf(error);
        await clock.sleep(retryMs, signal);
      }
    }
    return false;
  }
}

function follow<T extends ApiObject>(
  informer: Informer<T>,
  concerns: (object: T) => boolean,
  changed: () => void,
): () => void {
  const look = (object: T) => {
    if (concerns(object)) changed();
  };
  return informer.addHandler({ onAdd: look, onUpdate: look, onDelete: look });
}

/** The part of a service that routes need. */
function keepPorts({ metadata, spec, status }: Service): Service {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    metadata: { name, namespace, uid, resourceVersion } as Service['metadata'],
    spec: { type: spec?.type, ports: spec?.ports } as NonNullable<Service['spec']>,
    ...(status?.loadBalancer === undefined ? {} : { status: { loadBalancer: status.loadBalancer } }),
  } as Service;
}
