/** Plans routes and certificates from Ingresses, and reports problems. Pure. */
import type { Secret, Service, ServicePort as ServicePortSpec } from '#api/core/v1/types.gen.js';
import type { Ingress, IngressBackend, IngressClass } from '#api/networking/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { keyFor, keyOf } from '#apimachinery/object-key.js';
import { comparablePath } from '#ingress/routing/request-path.js';
import { type Route, RoutingTable, type ServicePort } from '#ingress/routing/routing-table.js';

export interface Observed {
  readonly dialect: Dialect;
  readonly ingresses: readonly Ingress[];
  readonly classes: readonly IngressClass[];
  /** By `namespace/name`. */
  readonly service: (key: string) => Service | undefined;
  /** TLS secrets. */
  readonly secret: (key: string) => Secret | undefined;
  /** Why the secret has no valid certificate and key; undefined if it has. */
  readonly whyUnusable: (secret: Secret) => string | undefined;
}

export interface Problem {
  readonly ingress: Ingress;
  /** Reason of the event. */
  readonly reason:
    | 'BackendNotFound'
    | 'BackendNotSupported'
    | 'CertificateNotFound'
    | 'CertificateInvalid'
    | 'RuleShadowed';
  readonly message: string;
}

export interface Plan {
  /** This controller's Ingresses, oldest first. */
  readonly ingresses: readonly Ingress[];
  readonly routes: RoutingTable;
  /** By host; `*.` stands for one label. */
  readonly certificates: ReadonlyMap<string, Secret>;
  readonly problems: readonly Problem[];
  /** Objects that the plan depends on, existing or not. */
  readonly services: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
  /** Service ports whose endpoints are needed. */
  readonly backends: readonly ServicePort[];
}

export function planRoutes(observed: Observed): Plan {
  const { dialect } = observed;
  const classes = ownClasses(observed.classes, dialect);
  const ingresses = observed.ingresses.filter((ingress) => isOwn(ingress, classes, dialect)).sort(byAge);
  const planner = new Planner(observed);
  for (const ingress of ingresses) planner.add(ingress);
  return { ingresses, ...planner };
}

/** Oldest first, so that a new Ingress cannot take over existing routes. */
function byAge(a: Ingress, b: Ingress): number {
  const [first = '', second = ''] = [a.metadata.creationTimestamp, b.metadata.creationTimestamp];
  if (first !== second) return first < second ? -1 : 1;
  return keyOf(a) < keyOf(b) ? -1 : 1;
}

class Planner {
  readonly routes = new RoutingTable();
  readonly certificates = new Map<string, Secret>();
  readonly problems: Problem[] = [];
  readonly services = new Set<string>();
  readonly secrets = new Set<string>();
  readonly backends: ServicePort[] = [];
  readonly #observed: Observed;
  readonly #reported = new Map<Ingress, number>();
  readonly #ports = new Map<Service, ReadonlyMap<string | number, ServicePortSpec>>();

  constructor(observed: Observed) {
    this.#observed = observed;
  }

  add(ingress: Ingress): void {
    const { rules = [], defaultBackend } = ingress.spec ?? {};
    const secured = this.#addCertificates(ingress);
    for (const { host = '', http } of rules) {
      for (const { path = '', pathType, backend } of http?.paths ?? []) {
        const route = this.#route(ingress, backend, isCovered(host, secured));
        const match = pathType === 'Exact' ? 'Exact' : 'Prefix';
        const text = path === '' ? '/' : path;
        if (!this.routes.add(host.toLowerCase(), match, comparablePath(text), route))
          this.#report(
            ingress,
            'RuleShadowed',
            `another rule has ${match} path ${text} of host ${host || '*'} already`,
          );
      }
    }
    if (defaultBackend === undefined) return;
    const hosts = rules.length === 0 ? [''] : new Set(rules.map(({ host = '' }) => host.toLowerCase()));
    for (const host of hosts) this.routes.addRest(host, this.#route(ingress, defaultBackend, isCovered(host, secured)));
  }

  /** Returns the hosts that are served with TLS. */
  #addCertificates(ingress: Ingress): ReadonlySet<string> {
    const { rules = [], tls = [] } = ingress.spec ?? {};
    const secured = new Set<string>();
    const ruleHosts = rules.map(({ host = '' }) => host.toLowerCase());
    // An entry without hosts is for those of all rules. The first such entry does it, and the first with a secret: an
    // object may have a hundred thousand entries and as many rules.
    let hasSecured = false;
    let hasCertificates = false;
    for (const { hosts: named = [], secretName = '' } of tls) {
      const isForRules = named.length === 0;
      const hosts = isForRules ? ruleHosts : named.map((host) => host.toLowerCase());
      if (!isForRules || !hasSecured) for (const host of hosts) secured.add(host);
      hasSecured ||= isForRules;
      // Without a secret the controller's own certificate is used.
      const secret = secretName === '' ? undefined : this.#certificate(ingress, secretName);
      if (secret === undefined || (isForRules && hasCertificates)) continue;
      for (const host of hosts) if (!this.certificates.has(host)) this.certificates.set(host, secret);
      hasCertificates ||= isForRules;
    }
    return secured;
  }

  #certificate(ingress: Ingress, name: string): Secret | undefined {
    const { dialect, secret: find, whyUnusable } = this.#observed;
    const key = keyFor(ingress.metadata.namespace, name);
    this.secrets.add(key);
    const secret = find(key);
    if (secret === undefined) {
      const type = dialect.secretTypes.tls;
      this.#report(ingress, 'CertificateNotFound', `there is no secret ${name} of type ${type} in this namespace`);
      return undefined;
    }
    const why = whyUnusable(secret);
    if (why !== undefined) this.#report(ingress, 'CertificateInvalid', `secret ${name}: ${why}`);
    return why === undefined ? secret : undefined;
  }

  #route(ingress: Ingress, backend: IngressBackend | undefined, isSecure: boolean): Route {
    const servicePort = this.#backend(ingress, backend);
    if (servicePort !== undefined) this.backends.push(servicePort);
    return { ingress: keyOf(ingress), backend: servicePort, isSecure };
  }

  #backend(ingress: Ingress, backend: IngressBackend | undefined): ServicePort | undefined {
    const named = backend?.service;
    if (named === undefined) {
      const { kind = '', name = '' } = backend?.resource ?? {};
      this.#report(ingress, 'BackendNotSupported', `${kind} ${name}: only services can be backends`);
      return undefined;
    }
    const key = keyFor(ingress.metadata.namespace, named.name);
    this.services.add(key);
    const service = this.#observed.service(key);
    if (service === undefined) {
      this.#report(ingress, 'BackendNotFound', `there is no service ${named.name} in this namespace`);
      return undefined;
    }
    if (service.spec?.type === 'ExternalName') {
      this.#report(ingress, 'BackendNotSupported', `service ${named.name} is an ExternalName, which has no endpoints`);
      return undefined;
    }
    const { name, number } = named.port ?? {};
    const ports = service.spec?.ports ?? [];
    const port = this.#portsOf(service).get(name || (number ?? 0));
    if (port === undefined) {
      const message = `service ${named.name} has no port ${name || number}; it has ${portsIn(ports)}`;
      this.#report(ingress, 'BackendNotFound', message);
      return undefined;
    }
    return { service: key, portName: port.name ?? '' };
  }

  /** By name and by number: a service may have as many ports as an Ingress has paths. */
  #portsOf(service: Service): ReadonlyMap<string | number, ServicePortSpec> {
    const cached = this.#ports.get(service);
    if (cached !== undefined) return cached;
    const ports = new Map<string | number, ServicePortSpec>();
    for (const port of service.spec?.ports ?? [])
      for (const key of [port.name ?? '', port.port]) if (!ports.has(key)) ports.set(key, port);
    this.#ports.set(service, ports);
    return ports;
  }

  #report(ingress: Ingress, reason: Problem['reason'], message: string): void {
    const count = this.#reported.get(ingress) ?? 0;
    if (count >= maxProblems) return;
    this.#reported.set(ingress, count + 1);
    this.problems.push({ ingress, reason, message });
  }
}

/** Problems reported of one Ingress: each becomes an event, and a rule may have thousands. */
const maxProblems = 50;
/** Ports named in a problem. */
const maxPorts = 10;

function portsIn(ports: readonly ServicePortSpec[]): string {
  const named = ports.slice(0, maxPorts).map(({ name, port }) => (name ? `${name} (${port})` : `${port}`));
  const more = ports.length > maxPorts ? `, and ${ports.length - maxPorts} more` : '';
  return named.length === 0 ? 'none' : named.join(', ') + more;
}

/** A wildcard stands for one label. */
function isCovered(host: string, secured: ReadonlySet<string>): boolean {
  const name = host.toLowerCase();
  const dot = name.indexOf('.');
  return secured.has(name) || (dot > 0 && secured.has(`*${name.slice(dot)}`));
}

interface OwnClasses {
  readonly names: ReadonlySet<string>;
  /** One of the classes is the default for Ingresses without a class. */
  readonly hasDefault: boolean;
}

/** The classes of this controller. Pure. */
function ownClasses(classes: readonly IngressClass[], dialect: Dialect): OwnClasses {
  const own = classes.filter(({ spec }) => spec?.controller === dialect.ingress.controller);
  return {
    names: new Set(own.map(({ metadata }) => metadata.name ?? '')),
    hasDefault: own.some(({ metadata }) => metadata.annotations?.[dialect.ingress.defaultClassAnnotation] === 'true'),
  };
}

/** The older annotation takes precedence over the field. */
function isOwn({ metadata, spec }: Ingress, { names, hasDefault }: OwnClasses, dialect: Dialect): boolean {
  const annotated = metadata.annotations?.[dialect.ingress.classAnnotation];
  const name = annotated === undefined || annotated === '' ? spec?.ingressClassName : annotated;
  return name === undefined ? hasDefault : names.has(name);
}
