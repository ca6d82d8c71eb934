/**
 * `kube-apiserver` of a KUBEBUILDER_ASSETS: the API server in the `kubernetes` dialect with the command line of release 1.24, and
 * controllers, scheduler and simulated nodes beside it as the environment says.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deferred } from '#apimachinery/async/deferred.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';
import { type ApiServerValues, apiServerOptions } from '#apiserver/options/options.js';
import { apiServerProgramRules } from '#apiserver/options/rules.js';
import type { Daemon } from '#daemon/daemon.js';
import { createRegistry } from '#daemon/metrics/registry.js';
import { OptionsError } from '#daemon/options/option.js';
import type { Program, ProgramContext } from '#daemon/run.js';
import { ensureAuthority, ensureCertificate } from '#pki/ensure.js';
import { directoryStore } from '#pki/file-store.js';
import type { Store } from '#storage/store.js';
import { clockOf } from '#testcluster/command/options.js';
import { type ControllerChoice, controllerChoice } from '#testcluster/controller-choice.js';
import { loopCommandLines } from '#testcluster/start-test-cluster.js';
import { TestCluster } from '#testcluster/test-cluster.js';

type Options = ReturnType<typeof apiServerOptions>;
type Context = ProgramContext<Options>;

/** Variables of the environment that choose what runs beside the API server. */
const controllersVariable = 'ORCH_TEST_CONTROLLERS';
const nodesVariable = 'ORCH_TEST_NODES';
/** `manual`: the clock stands still until it is moved. */
const clockVariable = 'ORCH_TEST_CLOCK';
/** File of rules by which simulated pods behave. */
const podRulesVariable = 'ORCH_TEST_POD_RULES';

/** @param store In place of the etcd of the options. */
export function envtestApiServer(store?: Store): Program<Options> {
  return {
    name: (dialect) => dialect.components.apiServer,
    description: 'Serves the API of release 1.24 for tests.',
    options: apiServerOptions,
    rules: apiServerProgramRules,
    isLenient: true,
    create: (context) => new EnvtestApiServer(context, store),
  };
}

/** The command line for `run`: the dialect is that of release 1.24 unless an option names another. */
export function inReleaseDialect(argv: readonly string[]): string[] {
  return [`--dialect=${kubernetesDialect.name}`, ...argv];
}

class EnvtestApiServer implements Daemon {
  readonly name: string;
  readonly #context: Context;
  readonly #store: Store | undefined;
  readonly #ready = deferred();
  readonly #stopping = new AbortController();
  #cluster: TestCluster | undefined;
  #folder: string | undefined;
  #closed: Promise<void> | undefined;

  constructor(context: Context, store: Store | undefined) {
    this.name = context.dialect.components.apiServer;
    this.#context = context;
    this.#store = store;
    // Not awaited by every owner.
    this.#ready.promise.catch(() => undefined);
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  async start(signal: AbortSignal): Promise<void> {
    const stopped = new Promise<void>((resolve) => {
      const stop = () => resolve();
      for (const each of [signal, this.#stopping.signal]) {
        if (each.aborted) stop();
        else each.addEventListener('abort', stop, { once: true });
      }
    });
    try {
      const cluster = await this.#build();
      this.#cluster = cluster;
      await Promise.race([cluster.start(), stopped]);
      this.#ready.resolve();
      await Promise.race([cluster.failed, stopped]);
    } finally {
      await this.close();
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#stopping.abort();
    this.#ready.reject(new Error('closed before it was ready'));
    await this.#cluster?.close();
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  async #build(): Promise<TestCluster> {
    const { dialect, random, log, env, verbosity, values, argv } = this.#context;
    const clock = clockOf(env[clockVariable] ?? 'real') ?? this.#context.clock;
    const rules = env[podRulesVariable] ?? '';
    const nodes = nodeCount(env[nodesVariable]);
    const choice = controllerChoice(env[controllersVariable] ?? 'none', nodes);
    const folder = await mkdtemp(join(tmpdir(), 'orch-envtest-'));
    this.#folder = folder;
    const featureGates = values['feature-gates'];
    const pki = await keysFor(folder, this.#context, choice);
    return new TestCluster({
      daemons: {
        ...{ dialect, clock, random, log, verbosity, env, newUID: randomUUID },
        metrics: createRegistry({ dialect }),
        ...(this.#store === undefined ? {} : { store: this.#store }),
        pki: pki.daemons,
        ...(runsLoops(choice) ? { rootCertificate: () => servingCertificate(values) } : {}),
        apiServerArguments: [...pki.options, ...argv.slice(2), ...(nodes > 0 ? nodeRights(values) : [])],
        ...loopCommandLines(dialect, choice, featureGates),
        isLenient: true,
      },
      ...{ choice, nodes, folder, featureGates },
      ...(rules === '' ? {} : { podRules: await readFile(rules, 'utf8') }),
    });
  }
}

/** A whole number; 0 when absent. Throws OptionsError. */
function nodeCount(text = ''): number {
  if (text === '') return 0;
  const count = Number(text);
  if (!Number.isInteger(count) || count < 0) {
    throw new OptionsError([`${nodesVariable} must be a whole number of nodes, not ${JSON.stringify(text)}`]);
  }
  return count;
}

/** envtest turns on RBAC alone, with which nodes have no rights. */
function nodeRights({ 'authorization-mode': modes }: ApiServerValues): string[] {
  const isEnough = modes.some((mode) => mode === 'Node' || mode === 'AlwaysAllow');
  // Modes of several options add up.
  return isEnough ? [] : ['--authorization-mode=Node'];
}

function runsLoops({ controllers, scheduler }: ControllerChoice): boolean {
  return controllers.length > 0 || scheduler;
}

interface Keys {
  readonly daemons: ConstructorParameters<typeof TestCluster>[0]['daemons']['pki'];
  /** Options of the API server for its connections to nodes; the command line's own ones follow and so override them. */
  readonly options: readonly string[];
}

const noKeys: Keys['daemons'] = {
  authority: { certificate: '', privateKey: '', certificateFile: undefined, privateKeyFile: undefined },
  serviceAccount: { privateKey: '', publicKey: '', privateKeyFile: undefined, publicKeyFile: undefined },
};

/** An authority of controllers and nodes, and the service account key of the options. The API server alone needs neither. */
async function keysFor(folder: string, { clock, dialect, values }: Context, choice: ControllerChoice): Promise<Keys> {
  if (!runsLoops(choice)) return { daemons: noKeys, options: [] };
  const files = directoryStore(folder);
  const now = clock.now();
  const authority = await ensureAuthority(files, 'ca', `${dialect.product}-ca`, now);
  const { users, groups } = dialect;
  const subject = { commonName: users.apiServerNodeAgentClient, organizations: [groups.masters] };
  const client = await ensureCertificate(files, 'nodes-client', authority, { subject, usages: ['client'] }, { now });
  const keyFile = values['service-account-signing-key-file'] ?? '';
  const privateKey = keyFile === '' ? '' : await readFile(keyFile, 'utf8');
  return {
    daemons: {
      authority,
      serviceAccount: { privateKey, publicKey: '', privateKeyFile: keyFile, publicKeyFile: undefined },
    },
    options: [
      `--nodeagent-client-certificate=${client.certificateFile}`,
      `--nodeagent-client-key=${client.privateKeyFile}`,
      `--nodeagent-certificate-authority=${authority.certificateFile}`,
    ],
  };
}

/** The API server's own certificate, which stands for its authority: no option names a file of that. */
function servingCertificate(values: ApiServerValues): Promise<string> {
  const file = values['tls-cert-file'] ?? '';
  return readFile(file === '' ? join(values['cert-dir'], 'apiserver.crt') : file, 'utf8');
}
