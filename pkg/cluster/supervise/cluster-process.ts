/**
 * A whole cluster in this process: API server, controllers, scheduler and node agents as objects that call each other.
 * `orch up` runs one, and `startCluster` one for tests with its store in memory and simulated nodes.
 */
import { createPrivateKey } from 'node:crypto';
import type { Registry } from 'prom-client';
import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { deferred } from '#apimachinery/async/deferred.js';
import { type Clock, datedClock, processClock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type ApiServerSetup, buildApiServer } from '#apiserver/build/build.js';
import type { CompleteApiServer } from '#apiserver/build/complete-api-server.js';
import { apiServerOptions } from '#apiserver/options/options.js';
import { apiServerRules } from '#apiserver/options/rules.js';
import { serviceAccountUser } from '#apiserver/serviceaccount/claims.js';
import type { Client } from '#client/client.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { SharedInformerFactory } from '#client/informer/factory.js';
import { dropManagedFields } from '#client/informer/transforms.js';
import { LeaseLock } from '#client/leaderelection/lock.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient, type WriteFence } from '#client/rest/rest-client.js';
import { takesPods } from '#cluster/clients/nodes.js';
import type { ClusterPki } from '#cluster/pki/cluster-pki.js';
import { ElectableLeadership } from '#cluster/supervise/electable-leadership.js';
import { ProcessActivity } from '#cluster/supervise/process-activity.js';
import type { SigningAuthorities } from '#controllers/csrsigning/controller.js';
import { serviceAccountOf } from '#controllers/options/names.js';
import type { ControllerManagerOptionTable } from '#controllers/options/options.js';
import { constant, FileFollower } from '#daemon/certificates/followed-file.js';
import type { Daemon } from '#daemon/daemon.js';
import { DebugEndpoints, type DebugEndpointsOptions } from '#daemon/debugging/debug-endpoints.js';
import { InspectorProfilerSource } from '#daemon/debugging/profiler.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Verbosity } from '#daemon/log/verbosity.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { idleGateFindings } from '#daemon/options/groups/feature-gates.js';
import type { TracingValues } from '#daemon/options/groups/tracing.js';
import type { OptionTable, OptionValues } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';
import { type Rule, validateOptions } from '#daemon/options/validate.js';
import { openTracer } from '#daemon/tracing/open-tracer.js';
import type { Tracer } from '#daemon/tracing/tracer.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { NodeAgent } from '#nodeagent/nodeagent.js';
import type { FileOnlySettings } from '#nodeagent/options/config/file-only.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { KeyCertificate } from '#pki/certificate.js';
import { jwtSigningKey } from '#pki/jwt.js';
import type { Extender } from '#scheduler/framework/extender.js';
import type { Scheduler } from '#scheduler/scheduler.js';
import type { SchedulerSetup } from '#scheduler/setup.js';
import type { Store } from '#storage/store.js';

export interface ClusterProcessOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Level of `log`, which clients may change at the daemons' ports. */
  readonly verbosity: Verbosity;
  readonly metrics: Registry;
  /** See `arguments.ts`. */
  readonly apiServerArguments: readonly string[];
  readonly controllerManagerArguments: readonly string[];
  readonly schedulerArguments: readonly string[];
  /** Environment of the scheduler's plugins and extender connections. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent: the etcd of the arguments. */
  readonly store?: Store;
  readonly newUID?: () => string;
  /** Certificates and keys that the controllers publish and sign with. */
  readonly pki: Pick<ClusterPki, 'authority' | 'serviceAccount'>;
  readonly machineAddresses?: readonly string[];
  /** Name of this server for leader election; absent for a single server. */
  readonly candidate?: string;
  /** False: the API server shows no explanations of a scheduler. */
  readonly hasScheduler?: boolean;
  /** PEM that the controllers publish as the API server's authority, read when they start; absent: the authority of `pki`. */
  readonly rootCertificate?: () => Promise<string>;
  /** Settings that would protect the cluster and have no effect are warnings: a cluster for tests protects nothing. */
  readonly isLenient?: boolean;
  /** Further paths of the API server. */
  readonly paths?: ApiServerSetup['paths'];
  /** Called for each request of the API that is authenticated and authorized, in place of its endpoint. */
  readonly around?: ApiServerSetup['around'];
  readonly beginWork?: ApiServerSetup['beginWork'];
}

/** The loops that `startLoops` starts; both when absent. */
export interface Loops {
  readonly controllers: boolean;
  readonly scheduler: boolean;
}

type NodeDependencies = Omit<NodeAgentDependencies, 'informers' | 'clock' | 'random' | 'log' | 'nodeName'>;

export interface NodeOptions {
  readonly name: string;
  readonly arguments: readonly string[];
  /** `tracer`: the agent's, if it has one. */
  readonly dependencies: (tracer: Tracer | undefined) => NodeDependencies | Promise<NodeDependencies>;
}

/** Context of a client's requests. */
interface RequestContext {
  /** Fences writes by the leader's term. */
  readonly fence?: WriteFence | undefined;
  readonly tracer?: Tracer | undefined;
}

type ControllerManagerValues = OptionValues<ControllerManagerOptionTable>;

/** What the controllers share with the scheduler, or get from the process. */
interface ControllerParts {
  readonly client: RestClient;
  readonly informers: SharedInformerFactory;
  readonly leadership: ElectableLeadership;
  readonly tracer: Tracer | undefined;
}

/** Loads the parts of daemons that not every process runs. */
const loadControllers = () => import('#cluster/supervise/loaded/controllers.js');
const loadScheduler = () => import('#cluster/supervise/loaded/scheduler.js');
const loadNode = () => import('#cluster/supervise/loaded/node.js');
const loadIngress = () => import('#cluster/supervise/loaded/ingress.js');

/** Configuration of the scheduler, also used for explanations at the API server's port. */
interface Scheduling extends SchedulerSetup {
  readonly extenders: readonly Extender[];
}

/** Starts daemons in order and stops them in reverse order. A failed daemon fails the cluster. */
export class ClusterProcess {
  readonly name = 'daemons';
  readonly #options: ClusterProcessOptions;
  readonly #stop = new AbortController();
  readonly #running: { daemon: Daemon; work: Promise<void> }[] = [];
  readonly #informing: Promise<void>[] = [];
  readonly #clients: RestClient[] = [];
  readonly #tracers: Tracer[] = [];
  /** By component. */
  readonly #recorders = new Map<string, ApiEventRecorder>();
  readonly activity = new ProcessActivity();
  /** Shared by all ports: the process can record one profile at a time. */
  readonly #profiler: InspectorProfilerSource;
  #api: CompleteApiServer | undefined;
  /** Informers of controllers and scheduler. */
  #loopInformers: SharedInformerFactory | undefined;
  #loopsRun = false;
  readonly #leaderships: ElectableLeadership[] = [];
  #scheduler: Scheduler | undefined;
  #scheduling: Scheduling | undefined;

  constructor(options: ClusterProcessOptions) {
    this.#options = options;
    this.#profiler = new InspectorProfilerSource(options);
  }

  get api(): CompleteApiServer {
    if (this.#api === undefined) throw new Error('the API server was not started');
    return this.#api;
  }

  /** Rejects when a daemon fails. */
  get failed(): Promise<void> {
    const failed = Promise.all([...this.#running.map(({ work }) => work), ...this.#informing]).then(() => undefined);
    // It may fail before the caller awaits it.
    failed.catch(() => undefined);
    return failed;
  }

  /** A client of that user, without a socket. */
  clientFor(name: string, groups: readonly string[], context: RequestContext = {}): RestClient {
    const { dialect, clock } = this.#options;
    const { fence, tracer } = context;
    const user = { name, groups: [...groups, dialect.groups.authenticated] };
    const transport = new InProcessTransport({ handler: this.api.handler, user });
    const userAgent = `${name}/${dialect.version}`;
    const client = new RestClient({
      ...{ transport, dialect, clock, userAgent },
      ...(fence === undefined ? {} : { fence }),
      ...(tracer === undefined ? {} : { tracer }),
    });
    this.#clients.push(client);
    return client;
  }

  /** A client of the controller's own service account. */
  #controllerClient(controller: string, context: RequestContext): Client {
    const { dialect } = this.#options;
    // As with tokens, the controller that signs them has none of its own.
    if (controller === 'serviceaccount-token') return this.clientFor(dialect.users.controllerManager, [], context);
    const namespace = dialect.namespaces.system;
    const { serviceAccounts } = dialect.groups;
    const name = serviceAccountUser(namespace, serviceAccountOf(controller));
    return this.clientFor(name, [serviceAccounts, `${serviceAccounts}:${namespace}`], context);
  }

  async startApiServer(): Promise<void> {
    const { dialect, clock, log, random, metrics, store, newUID, machineAddresses } = this.#options;
    const { paths, around, beginWork } = this.#options;
    const args = this.#options.apiServerArguments;
    const values = valuesOf(apiServerOptions(dialect), args, apiServerRules, this.#options);
    const setup: ApiServerSetup = {
      values,
      dialect,
      clock,
      log,
      random,
      metrics,
      debug: await this.#apiServerDebug(values.profiling),
      components: ['scheduler', 'controller-manager'].map((name) => ({ name, check: () => this.#checkLoops() })),
      ...(store === undefined ? {} : { store }),
      ...(newUID === undefined ? {} : { newUID }),
      ...(machineAddresses === undefined ? {} : { machineAddresses }),
      ...(paths === undefined ? {} : { paths }),
      ...(around === undefined ? {} : { around }),
      ...(beginWork === undefined ? {} : { beginWork }),
    };
    this.#api = await buildApiServer(setup);
    await this.#start(this.#api);
  }

  /** Starts controllers and scheduler, which share informers, and so one copy of each object. */
  async startLoops({ controllers, scheduler }: Loops = { controllers: true, scheduler: true }): Promise<void> {
    const { controllerManagerArguments: args, dialect, metrics } = this.#options;
    const { controllerManagerOptions, controllerManagerRules } = await loadControllers();
    const managers = this.#leadership(dialect.users.controllerManager, dialect.components.controllerManager);
    const values = valuesOf(controllerManagerOptions(dialect), args, controllerManagerRules, this.#options);
    const tracer = await this.#tracer(values, dialect.components.controllerManager, metrics);
    const client = this.clientFor(dialect.users.controllerManager, [], { fence: managers.fence, tracer });
    const informers = this.#informers(client);
    this.#loopInformers = informers;
    const daemons = [
      ...(controllers ? await this.#controllers(values, { client, informers, leadership: managers, tracer }) : []),
      ...(scheduler ? [await this.#schedulerOf(informers)] : []),
    ];
    this.#inform(informers);
    await Promise.all(daemons.map((each) => this.#start(each)));
    this.#loopsRun = true;
  }

  async #controllers(values: ControllerManagerValues, parts: ControllerParts): Promise<Daemon[]> {
    const { dialect, clock, random, log, metrics, pki, rootCertificate } = this.#options;
    const { client, informers, leadership, tracer } = parts;
    const { ControllerManager, cloudOf, rootCertificates, signingAuthorities } = await loadControllers();
    const { fence } = leadership;
    // An event may sum up several occurrences, so it belongs to no trace.
    const eventClient = this.clientFor(dialect.users.controllerManager, [], { fence });
    const cloud = await cloudOf(values, dialect);
    const { certificate, certificateFile, privateKeyFile } = pki.authority;
    const rootCA = rootCertificate === undefined ? await rootCertificates(certificateFile) : undefined;
    const manager = new ControllerManager(values, {
      client,
      ...(values['use-service-account-credentials']
        ? { clientFor: (controller: string) => this.#controllerClient(controller, { fence, tracer }) }
        : {}),
      leadership,
      informers,
      dialect,
      clock,
      random,
      log,
      events: (component) => this.#recorder(eventClient, component),
      metrics,
      rootCA: rootCA ?? constant((await rootCertificate?.()) ?? certificate),
      // Not reloaded: the API server of this process, which verifies the tokens, reads the key once too.
      tokenKey: constant(jwtSigningKey(createPrivateKey(pki.serviceAccount.privateKey))),
      authorities:
        certificateFile === undefined
          ? signedBy(pki.authority)
          : await signingAuthorities({
              'cluster-signing-cert-file': certificateFile,
              'cluster-signing-key-file': privateKeyFile,
            }),
      ...(cloud === undefined ? {} : { cloud }),
      ...(tracer === undefined ? {} : { tracer }),
    });
    this.activity.addManager(manager);
    return [manager, new FileFollower([rootCA], { clock: processClock(clock), log })];
  }

  async #schedulerOf(informers: SharedInformerFactory): Promise<Scheduler> {
    const { dialect, clock, random, log, metrics } = this.#options;
    const { Scheduler, schedulerMetrics } = await loadScheduler();
    const { extenders, limits, profiles, values } = await this.#setUpScheduler();
    const leadership = this.#leadership(dialect.users.scheduler, dialect.components.scheduler);
    const tracer = await this.#tracer(values, dialect.components.scheduler, metrics);
    const { fence } = leadership;
    const scheduler = new Scheduler({
      leadership,
      client: this.clientFor(dialect.users.scheduler, [], { fence, tracer }),
      informers,
      recorder: this.#recorder(
        this.clientFor(dialect.users.scheduler, [], { fence }),
        dialect.components.defaultScheduler,
      ),
      dialect,
      clock,
      random,
      log,
      metrics: schedulerMetrics(metrics),
      ...limits,
      profiles,
      extenders,
      ...(tracer === undefined ? {} : { tracer }),
    });
    this.#scheduler = scheduler;
    this.activity.addScheduler(scheduler);
    return scheduler;
  }

  /** Makes the loops run only while this server holds their locks. Resolves when it holds them. */
  async elect(candidate: string): Promise<void> {
    await Promise.all(this.#leaderships.map((leadership) => leadership.elect(candidate)));
  }

  #leadership(user: string, lock: string): ElectableLeadership {
    const { dialect, clock, random, log, metrics, candidate } = this.#options;
    const client = this.clientFor(user, []);
    const leadership = new ElectableLeadership({
      lock: new LeaseLock({ client, namespace: dialect.namespaces.system, name: lock }),
      ...{ clock, random, log, metrics, name: lock },
    });
    this.#leaderships.push(leadership);
    // Not awaited: another server may lead for as long as it runs.
    if (candidate !== undefined) leadership.elect(candidate).catch(() => undefined);
    return leadership;
  }

  /** The scheduler has no port in this process, so the API server's port serves its explanations. */
  async #apiServerDebug(profiling: boolean): Promise<DebugEndpoints> {
    const { apiServerArguments: argv, hasScheduler = true } = this.#options;
    return new DebugEndpoints({
      argv,
      ...(hasScheduler ? { pages: await this.#explanations() } : {}),
      ...this.#debugging({ profiles: profiling, flags: profiling }),
    });
  }

  async #explanations(): Promise<NonNullable<DebugEndpointsOptions['pages']>> {
    const { clock, dialect } = this.#options;
    const { explainPages } = await loadScheduler();
    const { extenders, profiles } = await this.#setUpScheduler();
    return explainPages({ view: () => this.#scheduler?.view, dialect, clock, profiles, extenders });
  }

  async #setUpScheduler(): Promise<Scheduling> {
    const { clock, dialect, env, log, schedulerArguments: args } = this.#options;
    if (this.#scheduling === undefined) {
      const { httpExtenders, schedulerOptions, schedulerRules, setUpScheduler } = await loadScheduler();
      const parsed = parsedOf(schedulerOptions(dialect), args, schedulerRules, this.#options);
      const setup = await setUpScheduler(parsed, { dialect, env, log });
      const extenders = await httpExtenders(setup.settings.extenders, { clock: processClock(clock), env, log });
      this.#scheduling = { ...setup, extenders };
    }
    return this.#scheduling;
  }

  /** Profiles and the log level are those of the whole process, at every port. */
  #debugging(on: { profiles: boolean; flags: boolean }): Pick<DebugEndpointsOptions, 'profiler' | 'verbosity'> {
    return {
      ...(on.profiles ? { profiler: this.#profiler } : {}),
      ...(on.flags ? { verbosity: this.#options.verbosity } : {}),
    };
  }

  /** Health of the loops: a loop that fails ends this process. */
  async #checkLoops(): Promise<string> {
    if (!this.#loopsRun) throw new Error('not started yet');
    return 'ok';
  }

  /** Resolves when the node is registered and Ready. */
  async startNode(node: NodeOptions): Promise<NodeAgent> {
    const { dialect, clock, random, log } = this.#options;
    const load = await loadNode();
    const { NodeAgent, cloudDependencies, currentConfig, nodeAgentOptionTable, shutdownDependencies, standardServer } =
      load;
    const { nodeDns, nodePodNetwork, nodeServiceProxy } = load;
    const { values, settings } = await this.#nodeAgentConfiguration(node.arguments);
    // A registry for each agent: the process's registry has the API server's series.
    const metrics = createRegistry({ dialect });
    const tracer = await this.#tracer(values, dialect.components.nodeAgent, metrics);
    const clientFor = (context: RequestContext) =>
      this.clientFor(`${dialect.users.nodePrefix}${node.name}`, [dialect.groups.nodes], context);
    const client = clientFor({ tracer });
    const informers = this.#informers(client);
    const configz = currentConfig(nodeAgentOptionTable(dialect), values, dialect, settings);
    const debug = new DebugEndpoints({
      argv: node.arguments,
      configz: { [`${dialect.nodeAgentIdentifier.toLowerCase()}config`]: configz },
      ...this.#debugging({
        profiles: values['enable-profiling-handler'],
        flags: values['enable-debug-flags-handler'],
      }),
    });
    const isSimulated = (values['container-runtime-endpoint'] ?? '') === '';
    const agent = new NodeAgent(values, {
      informers,
      clock,
      random,
      log: log.child({ node: node.name }),
      nodeName: node.name,
      metrics,
      server: standardServer({
        ...{ client, dialect, clock: datedClock(clock), random, log, metrics, debug },
        nodeName: node.name,
        isPortOnlyPreferred: true,
      }),
      ...(tracer === undefined ? {} : { tracer, eventClient: clientFor({}) }),
      ...(await node.dependencies(tracer)),
      // A simulated node has no interfaces to put addresses on.
      ...(isSimulated ? {} : await cloudDependencies(values)),
      ...shutdownDependencies(settings, { dialect, log, isSimulated }),
    });
    this.activity.addNode(agent);
    const shared = { informers, clock, random, log, metrics, nodeName: node.name };
    const beside = [nodeDns(values, shared), nodeServiceProxy(values, shared), nodePodNetwork(values, shared)];
    this.#inform(informers);
    // Not awaited: the cluster starts even when another program uses one of their ports.
    for (const daemon of beside) if (daemon !== undefined) this.#launch(daemon);
    await this.#start(agent);
    return agent;
  }

  /** Options of the command line and of its configuration file. */
  async #nodeAgentConfiguration(
    args: readonly string[],
  ): Promise<{ readonly values: NodeAgentOptions; readonly settings: FileOnlySettings }> {
    const { dialect } = this.#options;
    const { applyConfigFile, nodeAgentOptionRules, nodeAgentOptionTable, noFileSettings } = await loadNode();
    const table = nodeAgentOptionTable(dialect);
    const parsed = parsedOf(table, args, nodeAgentOptionRules, this.#options);
    const path = parsed.values.config ?? '';
    if (path === '') return { values: parsed.values, settings: noFileSettings };
    const complete = await applyConfigFile(table, parsed, { path, dialect });
    validateOptions(complete, nodeAgentOptionRules);
    return complete;
  }

  /** Does not wait for the controller: the cluster starts even when another program uses one of its ports. */
  async startIngress(args: readonly string[]): Promise<void> {
    const { dialect, clock, random, log, metrics } = this.#options;
    const { IngressController, ingressOptionTable, ingressRules, ingressSettings } = await loadIngress();
    const values = valuesOf(ingressOptionTable(dialect), args, [ingressRules], this.#options);
    const client = this.clientFor(dialect.users.ingress, []);
    const informers = this.#informers(client);
    const recorder = this.#recorder(client, dialect.components.ingress);
    this.#launch(
      new IngressController({ ...ingressSettings(values), informers, recorder, clock, random, log, metrics }),
    );
    this.#inform(informers);
  }

  /**
   * Resolves when the scheduler has observed that all the named nodes take pods, so that it spreads new pods over all of
   * them. Rejects when `signal` aborts first.
   */
  async untilScheduled(names: readonly string[], signal: AbortSignal): Promise<void> {
    const informer = this.#loopInformers?.informer(nodes);
    if (names.length === 0 || informer === undefined) return;
    const waiting = new Set(names);
    const done = deferred();
    // Handlers are called in the order of their registration: the scheduler's comes first.
    const check = (node: Node) => {
      if (takesPods(node, this.#options.dialect)) waiting.delete(node.metadata.name ?? '');
      if (waiting.size === 0) done.resolve();
    };
    const onAbort = () => done.reject(new Error(`these nodes take no pods: ${[...waiting].slice(0, 10).join(', ')}`));
    signal.addEventListener('abort', onAbort, { once: true });
    const removeHandler = informer.addHandler({ onAdd: check, onUpdate: check });
    try {
      await done.promise;
    } finally {
      removeHandler();
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Stops the last started daemon first, and the API server last. */
  async close(): Promise<void> {
    const [api, ...others] = this.#running;
    await Promise.all(
      others.reverse().map(async ({ daemon, work }) => {
        await daemon.close();
        await work;
      }),
    );
    await Promise.all([...this.#recorders.values()].map((recorder) => recorder.close()));
    this.#stop.abort();
    await Promise.all(this.#informing);
    await Promise.all(this.#clients.map((client) => client.close()));
    await api?.daemon.close();
    await api?.work;
    await Promise.all(this.#tracers.map((tracer) => tracer.close()));
  }

  async #tracer(values: TracingValues, service: string, metrics: Registry): Promise<Tracer | undefined> {
    const { dialect, log } = this.#options;
    const tracer = await openTracer(values['tracing-config-file'], { dialect, service, log, metrics });
    if (tracer !== undefined) this.#tracers.push(tracer);
    return tracer;
  }

  #informers(client: RestClient): SharedInformerFactory {
    const { clock, random, log } = this.#options;
    const informers = new SharedInformerFactory({ client, clock, random, log, transform: dropManagedFields });
    this.activity.addInformers(informers);
    return informers;
  }

  #inform(informers: SharedInformerFactory): void {
    const informing = informers.start(this.#stop.signal);
    // A failure is reported by `failed`.
    informing.catch(() => undefined);
    this.#informing.push(informing);
  }

  #recorder(client: RestClient, component: string): ApiEventRecorder {
    const { clock, random, log, metrics } = this.#options;
    const existing = this.#recorders.get(component);
    if (existing !== undefined) return existing;
    const recorder = new ApiEventRecorder({ client, source: { component }, clock, random, log, metrics });
    this.#recorders.set(component, recorder);
    this.activity.addRecorder(component, recorder);
    return recorder;
  }

  async #start(daemon: Daemon): Promise<void> {
    const { work } = this.#launch(daemon);
    await Promise.race([daemon.ready(), work]);
  }

  #launch(daemon: Daemon): { readonly work: Promise<void> } {
    const work = daemon.start(this.#stop.signal);
    // A failure is reported by `failed`.
    work.catch(() => undefined);
    const launched = { daemon, work };
    this.#running.push(launched);
    return launched;
  }
}

type ParseMode = Pick<ClusterProcessOptions, 'log' | 'isLenient'>;

function valuesOf<T extends OptionTable>(
  table: T,
  args: readonly string[],
  rules: readonly Rule<OptionValues<T>>[],
  settings: ParseMode,
): OptionValues<T> {
  return parsedOf(table, args, rules, settings).values;
}

function parsedOf<T extends OptionTable>(
  table: T,
  args: readonly string[],
  rules: readonly Rule<OptionValues<T>>[],
  { log, isLenient = false }: ParseMode,
): ParsedOptions<T> {
  const parsed = parseOptions(table, args, { program: 'orch' });
  if (parsed.kind !== 'run') throw new Error('the command line of a daemon must run it');
  const given: Readonly<Record<string, unknown>> = parsed.values;
  // Each daemon of the cluster gets all gates.
  const gates = idleGateFindings((given['feature-gates'] ?? {}) as Readonly<Record<string, boolean>>);
  const refusals = [...parsed.refusals, ...gates.refusals];
  validateOptions({ ...parsed, refusals: isLenient ? [] : refusals }, rules);
  for (const warning of [...parsed.warnings, ...gates.warnings, ...(isLenient ? refusals : [])]) log.debug(warning);
  return parsed;
}

/** The same authority for all signers. */
function signedBy(authority: KeyCertificate): SigningAuthorities {
  const current = async () => authority;
  return {
    apiServerClient: current,
    apiServerClientNodeAgent: current,
    nodeAgentServing: current,
    legacyUnknown: current,
  };
}
