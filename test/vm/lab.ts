/** What a scenario works with: a machine, and the cluster in it. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodes, pods } from '#api/core/v1/resources.gen.js';
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { type RunResult, root, run } from '#test/e2e/harness.js';
import { adminClient } from '#test/e2e/observe.js';
import { isReady, namespace } from '#test/e2e/pods.js';
import { freePort } from '#test/free-port.js';
import type { Checks } from '#test/vm/checks.js';
import { Machine, slowness } from '#test/vm/machine/machine.js';

export interface Scenario {
  /** For `--only`. */
  readonly name: string;
  /** One line of docs/compatibility.md. */
  readonly what: string;
  run(lab: Lab): Promise<void>;
}

export interface Lab {
  readonly checks: Checks;
  readonly machine: Machine;
  readonly cluster: ClusterInMachine;
}

/** Folders of the programs in the machine. */
const programs = '/opt/orch';
export const nextPrograms = '/opt/orch-next';
export const dataDir = '/var/lib/orch';
/** The host's name, and so the node's. */
export const nodeName = 'vm';

const pollMs = 1000;

/** A cluster of `orch` inside of a machine, used from outside through its API. */
class ClusterInMachine {
  readonly #machine: Machine;
  readonly #folder: string;
  readonly #apiPort: number;
  #client: RestClient | undefined;

  constructor(machine: Machine, { folder, apiPort }: { readonly folder: string; readonly apiPort: number }) {
    this.#machine = machine;
    this.#folder = folder;
    this.#apiPort = apiPort;
  }

  get client(): RestClient {
    if (this.#client === undefined) throw new Error('there is no cluster yet');
    return this.#client;
  }

  get #config(): string {
    return join(this.#folder, 'client.config');
  }

  /** Copies the programs from the read-only disk. */
  async unpack(): Promise<void> {
    const mounted = 'mkdir -p /mnt/programs && mount -o ro /dev/vdb /mnt/programs';
    await this.#machine.sh(`${mounted} && cp -a /mnt/programs/orch* /opt/ && umount /mnt/programs`, 120_000);
  }

  /** Installs the unit with flags of `orch up`, and waits for the node. */
  async install(...flags: string[]): Promise<void> {
    await this.#machine.sh(`${programs}/bin/orch install -- ${flags.join(' ')}`, 120_000);
    await this.#machine.until(`cat ${dataDir}/client.config`, (text) => text.includes('client-key-data'));
    const text = await this.#machine.sh(`cat ${dataDir}/client.config`);
    writeFileSync(this.#config, text.replace('127.0.0.1:6443', `127.0.0.1:${this.#apiPort}`), { mode: 0o600 });
    await this.close();
    this.#client = (await adminClient({ config: this.#config })) as RestClient;
    await this.ready();
  }

  /** Stops it and removes the unit; its state stays. */
  async uninstall(): Promise<void> {
    await this.#machine.sh(`${programs}/bin/orch uninstall`, 180_000);
  }

  /** Removes the unit and all data. */
  async remove(): Promise<void> {
    await this.uninstall();
    await this.#machine.sh(`${programs}/bin/orch down --delete`, 180_000);
  }

  async close(): Promise<void> {
    await this.#client?.close();
    this.#client = undefined;
  }

  /** Waits until `look` resolves; throws its last error after the time limit. */
  async eventually<T>(what: string, look: () => Promise<T>, timeoutMs = 90_000): Promise<T> {
    const deadline = realClock.monotonic() + timeoutMs * slowness;
    for (;;) {
      try {
        return await look();
      } catch (error) {
        if (realClock.monotonic() > deadline)
          throw new Error(`${what}: not within ${timeoutMs / 1000} s: ${messageOf(error)}`, { cause: error });
        await realClock.sleep(pollMs);
      }
    }
  }

  /** Waits until the node is Ready in this boot of the machine. */
  async ready(timeoutMs = 120_000): Promise<void> {
    const boot = await this.#machine.sh('cat /proc/sys/kernel/random/boot_id');
    await this.untilNode(
      'is Ready',
      ({ status }) => status?.nodeInfo?.bootID === boot && conditionOf(status, 'Ready') === 'True',
      timeoutMs,
    );
  }

  untilNode(what: string, isSo: (node: Node) => boolean, timeoutMs?: number): Promise<Node> {
    const look = async () => {
      const node = await this.client.resource(nodes).get(nodeName);
      if (!isSo(node)) throw new Error(JSON.stringify(node.status?.conditions));
      return node;
    };
    return this.eventually(`node ${what}`, look, timeoutMs);
  }

  create(pod: Pod): Promise<Pod> {
    return this.client.resource(pods).create(pod);
  }

  get(name: string): Promise<Pod> {
    return this.client.resource(pods).get(name, { namespace });
  }

  untilPod(name: string, what: string, isSo: (pod: Pod) => boolean, timeoutMs?: number): Promise<Pod> {
    const look = async () => {
      const pod = await this.get(name);
      if (!isSo(pod)) throw new Error(JSON.stringify(pod.status));
      return pod;
    };
    return this.eventually(`pod ${name} ${what}`, look, timeoutMs);
  }

  podReady(name: string, timeoutMs?: number): Promise<Pod> {
    return this.untilPod(name, 'is Ready', isReady, timeoutMs);
  }

  /** Runs the command-line client of the cluster on this machine. */
  run(args: readonly string[], timeoutMs = 60_000, input = ''): Promise<RunResult> {
    const options = { env: { KUBECONFIG: this.#config }, timeoutMs: timeoutMs * slowness, input };
    return run(join(root, 'bin', 'orchctl'), args, options);
  }

  /** The output of the client. Throws when it fails. */
  async ctl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args);
    if (code !== 0) throw new Error(`orchctl ${args.join(' ')}: ${stderr}${stdout}`);
    return stdout.trim();
  }

  /** Applies objects. */
  async apply(...objects: readonly object[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
    const { code, stderr } = await this.run(['apply', '-f', '-'], 60_000, list);
    if (code !== 0) throw new Error(`apply: ${stderr}`);
  }

  /** The page of a port of a pod, through `port-forward`. */
  async forwarded(pod: string, port: number): Promise<string> {
    const local = await freePort();
    const stop = new AbortController();
    const args = ['port-forward', `pod/${pod}`, `${local}:${port}`];
    const child = spawn(join(root, 'bin', 'orchctl'), args, {
      env: { ...process.env, KUBECONFIG: this.#config },
      signal: stop.signal,
      stdio: 'ignore',
    });
    child.once('error', () => undefined);
    try {
      const url = `http://127.0.0.1:${local}/`;
      return await this.eventually('the port is forwarded', async () => (await (await fetch(url)).text()).trim());
    } finally {
      stop.abort();
    }
  }

  /** The output of a shell in a container. */
  exec(pod: string, script: string): Promise<string> {
    return this.ctl('exec', pod, '--', 'sh', '-c', script);
  }

  /** What the node agent serves under a path. */
  agent(path: string): Promise<string> {
    return this.ctl('get', '--raw', `/api/v1/nodes/${nodeName}/proxy${path}`);
  }

  /** The cgroup files of a running container, from the root of the hierarchy; `..` leads to the pod's. */
  async cgroup(pod: string, files: readonly string[], container = 'main'): Promise<Record<string, string>> {
    const { status } = await this.get(pod);
    const id = status?.containerStatuses?.find(({ name }) => name === container)?.containerID?.split('//')[1];
    if (id === undefined) throw new Error(`container ${container} of ${pod} does not run`);
    const folder = await this.#machine.sh(`find /sys/fs/cgroup -type d -name '*${id}*' | head -1`);
    const out = await this.#machine.sh(`cd ${folder} && for f in ${files.join(' ')}; do echo "$f=$(cat $f)"; done`);
    return {
      path: folder,
      ...Object.fromEntries(out.split('\n').map((line) => line.split('=', 2) as [string, string])),
    };
  }
}

/** Status of a condition. */
export function conditionOf(
  status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] } | undefined,
  type: string,
): string | undefined {
  return status?.conditions?.find((condition) => condition.type === type)?.status;
}

/** Runs a scenario in a fresh machine, whose disk goes away afterwards. */
export async function inFreshMachine(
  scenario: Scenario,
  options: { readonly image: string; readonly folder: string; readonly payload: string; readonly checks: Checks },
): Promise<void> {
  const { checks, folder, image, payload } = options;
  mkdirSync(folder, { recursive: true });
  const apiPort = await freePort();
  const machine = new Machine({ image, folder, readOnly: [payload], apiPort });
  const cluster = new ClusterInMachine(machine, { folder, apiPort });
  try {
    await machine.boot();
    await cluster.unpack();
    await scenario.run({ checks, machine, cluster });
  } finally {
    await saveJournal(machine, folder);
    await cluster.close();
    await machine.kill();
    rmSync(join(folder, 'disk.qcow2'), { force: true });
  }
}

/** What the services of the machine wrote, for the reader of a failure. */
async function saveJournal(machine: Machine, folder: string): Promise<void> {
  try {
    writeFileSync(join(folder, 'journal.log'), await machine.sh('journalctl --no-pager', 60_000));
  } catch (error) {
    writeFileSync(join(folder, 'journal.log'), messageOf(error));
  }
}

/** Writes an ext4 disk with the content of a folder. */
export function makeDisk(file: string, content: string, megabytes: number): void {
  rmSync(file, { force: true });
  execFileSync('truncate', ['-s', `${megabytes}M`, file]);
  execFileSync('mkfs.ext4', ['-q', '-F', '-d', content, file]);
}
