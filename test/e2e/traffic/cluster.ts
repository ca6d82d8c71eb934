/** A dual-stack cluster of three hosts, two on one network and one behind a router; and two hosts that are no nodes. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { layoutOf } from '#cluster/config/layout.js';
import { machineNodeName } from '#cluster/machine/node-identity.js';
import { readIdentity } from '#cluster/process/identity.js';
import { eventually, type RunResult, root } from '#test/e2e/harness.js';
import { type Host, type HostNetwork, makeHosts } from '#test/e2e/hosts.js';

/** Ranges of each family. */
const podRanges = ['10.244.0.0/16', 'fd00:244::/56'];
const serviceRanges = ['10.96.0.0/16', 'fd00:96::/112'];
/** Addresses of load balancers, on the network of the first host. */
const pool = ['10.250.0.128/28', 'fd00:250::100-fd00:250::1ff'];

const bin = (name: string) => join(root, 'bin', name);
const timeoutMs = 180_000;

export class HostCluster {
  readonly #network: HostNetwork;
  readonly #folders: ReadonlyMap<Host, string>;
  /** Nodes by their names. */
  readonly nodes: ReadonlyMap<string, Host>;
  readonly firstName = machineNodeName();
  readonly first: Host;
  readonly outside: Host;
  readonly stranger: Host;
  /** Proxy mode of the nodes from their next start on. */
  proxyMode = 'nftables';

  constructor() {
    this.#network = makeHosts([4, 1]);
    const [first, near, outside, stranger, far] = this.#network.hosts as [Host, Host, Host, Host, Host];
    this.nodes = new Map([
      [this.firstName, first],
      ['near', near],
      ['far', far],
    ]);
    this.#folders = new Map([first, near, far].map((host) => [host, mkdtempSync(join(tmpdir(), 'ot-'))]));
    this.first = first;
    this.outside = outside;
    this.stranger = stranger;
  }

  /** Starts all nodes. */
  async start(): Promise<void> {
    await this.up();
    const line = (await this.ctl('token', 'create', '--print-join-command')).trim().split(' ').slice(1);
    const joining = [...this.nodes].filter(([, host]) => host !== this.first);
    await Promise.all(joining.map(([name]) => this.join(name, ...line.slice(1))));
  }

  /** Starts or restarts the first host. */
  async up(): Promise<void> {
    const config = join(this.#dirOf(this.first), 'balancers.json');
    writeFileSync(
      config,
      JSON.stringify({
        apiVersion: `baremetal.config.${orchDialect.apiDomain}/v1alpha1`,
        kind: 'BareMetalConfiguration',
        pools: [{ name: 'public', addresses: pool }],
      }),
    );
    const manager = [
      ...['cloud-provider=bare-metal', `cloud-config=${config}`],
      // Three renewals of a node's lease.
      ...['node-monitor-grace-period=9s', 'node-monitor-period=1s'],
    ];
    const apiServer = ['default-not-ready-toleration-seconds=1', 'default-unreachable-toleration-seconds=1'];
    await this.#orch(this.first, [
      ...['up', '--ingress=built-in', `--cluster-cidr=${podRanges}`, `--service-cluster-ip-range=${serviceRanges}`],
      ...manager.map((option) => `--controller-manager-arg=${option}`),
      ...apiServer.map((option) => `--apiserver-arg=${option}`),
    ]);
  }

  /** Joins or restarts the node on its host. */
  join(name: string, ...more: readonly string[]): Promise<void> {
    const host = this.host(name);
    const args = more.length === 0 ? [] : [...more, '--node-name', name];
    return this.#orch(host, ['join', ...args]);
  }

  async #orch(host: Host, [command = '', ...more]: readonly string[]): Promise<void> {
    const dir = ['--data-dir', this.#dirOf(host)];
    const agent = [
      ...['cloud-provider=bare-metal', 'node-lease-duration-seconds=12'],
      `service-proxy-mode=${this.proxyMode}`,
    ];
    const args = [
      ...['--detach', '--node-ip', `${host.address},${host.address6}`],
      '--feature-gates=ProxyTerminatingEndpoints=true',
      ...agent.map((option) => `--nodeagent-arg=${option}`),
    ];
    succeeded(await host.run(bin('orch'), [command, ...more, ...dir, ...args], { timeoutMs }));
  }

  host(name: string): Host {
    const host = this.nodes.get(name);
    if (host === undefined) throw new Error(`there is no node ${name}`);
    return host;
  }

  /** The node of one of the pods that answer for services. */
  nodeOf(pod: string): string {
    return pod === 'web-first' ? this.firstName : pod.replace('web-', '');
  }

  /** All packet filter rules of the host, of both proxy modes. */
  async rules(host: Host): Promise<string> {
    const programs = [['iptables-save'], ['ip6tables-save'], ['nft', 'list', 'ruleset']] as const;
    const said = await Promise.all(programs.map(([program, ...args]) => host.run(program, args)));
    return said.map(succeeded).join('\n');
  }

  /** What `orchctl` prints; rejects when it fails. */
  async ctl(...args: readonly string[]): Promise<string> {
    return succeeded(await this.#ctl(args));
  }

  apply(objects: readonly object[]): Promise<void> {
    return this.applyText(objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  }

  async applyText(input: string): Promise<void> {
    succeeded(await this.#ctl(['apply', '-f', '-'], input));
  }

  /** Polls the check, with pauses because each check starts a program. */
  until<T>(what: string, check: () => Promise<T | undefined | false>): Promise<T> {
    return eventually(what, async () => {
      await realClock.sleep(800);
      return check();
    });
  }

  async get<T>(...what: readonly string[]): Promise<T> {
    return JSON.parse(await this.ctl('get', ...what, '-o', 'json')) as T;
  }

  #ctl(args: readonly string[], input = ''): Promise<RunResult> {
    const env = { KUBECONFIG: layoutOf(this.#dirOf(this.first)).clientConfig };
    return this.first.run(bin('orchctl'), args, { env, input });
  }

  /** Kills one of the programs of the host: `orch`, or `etcd`. */
  kill(host: Host, program: string): void {
    const identity = readIdentity(join(layoutOf(this.#dirOf(host)).run, `${program}.pid`));
    if (identity === undefined) throw new Error(`${program} does not run on ${host.name}`);
    process.kill(identity.pid, 'SIGKILL');
  }

  /** A power loss of the host: its link goes down, and all its processes are killed, containers included. */
  async lose(name: string): Promise<void> {
    const host = this.host(name);
    this.#network.setLink(host, 'down');
    // The next round finds processes that start meanwhile.
    await eventually(`nothing runs on ${name}`, async () => killAll(host) === 0, 20_000);
  }

  /** The host is powered on again. */
  async regain(name: string): Promise<void> {
    this.#network.setLink(this.host(name), 'up');
    await this.join(name);
  }

  async destroy(): Promise<void> {
    const ended = await Promise.allSettled([...this.#folders].map(([host, dataDir]) => end(host, dataDir)));
    const problems = ended.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
    this.#network.destroy();
    if (problems.length > 0) throw new AggregateError(problems, problems.map(String).join('\n'));
  }

  #dirOf(host: Host): string {
    return this.#folders.get(host) ?? '';
  }
}

async function end(host: Host, dataDir: string): Promise<void> {
  if (existsSync(layoutOf(dataDir).settings))
    succeeded(await host.run(bin('orch'), ['down', '--delete', '--data-dir', dataDir], { timeoutMs }));
  rmSync(dataDir, { recursive: true, force: true });
}

function succeeded({ code, stderr, stdout }: RunResult): string {
  if (code !== 0) throw new Error(`ended with ${code}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Kills the processes in the host's network and their descendants, also in networks of pods; returns their number. */
function killAll({ name }: Host): number {
  const parents = new Map<number, number>();
  for (const pid of readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      parents.set(pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  const there = statSync(`/run/netns/${name}`).ino;
  const doomed = new Set([...parents.keys()].filter((pid) => networkOf(pid) === there));
  for (let size = -1; size !== doomed.size; ) {
    size = doomed.size;
    for (const [pid, parent] of parents) if (doomed.has(parent)) doomed.add(pid);
  }
  for (const pid of doomed) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  return doomed.size;
}

/** The network namespace of the process; undefined if the process has ended or cannot be inspected. */
function networkOf(pid: number): number | undefined {
  try {
    return statSync(`/proc/${pid}/ns/net`).ino;
  } catch {
    return undefined;
  }
}
