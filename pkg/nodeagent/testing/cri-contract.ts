/** The contract of the runtime interface; each implementation runs this suite. */
import { Readable, Writable } from 'node:stream';
import type { Test } from 'tap';
import type { ContainerConfig, CRI, PodSandboxConfig } from '#nodeagent/cri/cri.js';
import type { LogFiles } from '#nodeagent/logs/log-files.js';

export interface ContractSubject {
  readonly cri: CRI;
  readonly logFiles: LogFiles;
  /** A pulled image with a shell. */
  readonly image: string;
  /** An absolute path. */
  readonly logDirectory: string;
}

const namespaceOptions = { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } as const;

function sandboxConfig(subject: ContractSubject, uid: string): PodSandboxConfig {
  return {
    metadata: { name: `pod-${uid}`, uid, namespace: 'default', attempt: 0 },
    hostname: `pod-${uid}`,
    logDirectory: `${subject.logDirectory}/${uid}`,
    portMappings: [],
    labels: { uid },
    annotations: { note: 'kept' },
    linux: { securityContext: { namespaceOptions } },
  };
}

function containerConfig(subject: ContractSubject, name: string, command: readonly string[]): ContainerConfig {
  return {
    metadata: { name, attempt: 0 },
    image: subject.image,
    command: [...command],
    args: [],
    workingDir: '',
    envs: [{ key: 'GREETING', value: 'hi' }],
    mounts: [],
    devices: [],
    labels: { name },
    annotations: { hash: '1' },
    logPath: `${name}.log`,
    stdin: false,
    stdinOnce: false,
    tty: false,
    linux: { resources: { cpuShares: 2 }, securityContext: { namespaceOptions } },
  };
}

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 500; i++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the condition did not come true');
}

/** Registers the suite's tests on `t`. */
export function criContract(t: Test, newSubject: () => Promise<ContractSubject>): void {
  t.test('a sandbox lives from run to remove', async (t) => {
    const subject = await newSubject();
    const { cri } = subject;
    t.ok((await cri.version()).runtimeName);
    const conditions = await cri.status();
    for (const name of ['RuntimeReady', 'NetworkReady'])
      t.ok(conditions.find(({ type }) => type === name)?.status, name);
    const id = await cri.runPodSandbox(sandboxConfig(subject, 'a'));
    const status = await cri.podSandboxStatus(id);
    t.match(status, { id, state: 'SANDBOX_READY', metadata: { uid: 'a' }, annotations: { note: 'kept' } });
    t.match(status.ips, [/^\d+\.\d+\.\d+\.\d+$/]);
    t.equal((await cri.listPodSandbox({ labelSelector: { uid: 'a' } })).length, 1);
    t.equal((await cri.listPodSandbox({ labelSelector: { uid: 'other' } })).length, 0);
    await cri.stopPodSandbox(id);
    await cri.stopPodSandbox(id);
    t.equal((await cri.podSandboxStatus(id)).state, 'SANDBOX_NOTREADY');
    await cri.removePodSandbox(id);
    await cri.removePodSandbox(id);
    await t.rejects(cri.podSandboxStatus(id), { code: 'NotFound' });
  });

  t.test('names of sandboxes and containers are unique', async (t) => {
    const subject = await newSubject();
    const { cri } = subject;
    const sandbox = sandboxConfig(subject, 'named');
    const sandboxId = await cri.runPodSandbox(sandbox);
    t.teardown(async () => cri.removePodSandbox(sandboxId));
    await t.rejects(cri.runPodSandbox(sandbox), { code: 'Unknown', message: /is reserved for/ });
    const config = containerConfig(subject, 'main', ['sleep', '1000']);
    const id = await cri.createContainer(sandboxId, config, sandbox);
    await t.rejects(cri.createContainer(sandboxId, config, sandbox), { code: 'Unknown', message: /is reserved for/ });
    await cri.removeContainer(id);
    await cri.removeContainer(await cri.createContainer(sandboxId, config, sandbox));
  });

  t.test("a sandbox on the host's network reports its network mode", async (t) => {
    const subject = await newSubject();
    const { cri } = subject;
    const config: PodSandboxConfig = {
      ...sandboxConfig(subject, 'host'),
      hostname: '',
      dnsConfig: { servers: ['192.0.2.53'], searches: ['example.test'], options: ['ndots:3', 'rotate'] },
      linux: { securityContext: { namespaceOptions: { ...namespaceOptions, network: 'NODE' } } },
    };
    const id = await cri.runPodSandbox(config);
    t.teardown(async () => cri.removePodSandbox(id));
    t.match(await cri.podSandboxStatus(id), { state: 'SANDBOX_READY', networkMode: 'NODE' });
  });

  t.test('a container runs, answers commands, is stopped and leaves its log', async (t) => {
    const subject = await newSubject();
    const { cri } = subject;
    const sandbox = sandboxConfig(subject, 'b');
    const sandboxId = await cri.runPodSandbox(sandbox);
    t.teardown(async () => cri.removePodSandbox(sandboxId));
    const command = ['sh', '-c', 'echo started; sleep 1000'];
    const id = await cri.createContainer(sandboxId, containerConfig(subject, 'main', command), sandbox);
    t.match(await cri.containerStatus(id), { state: 'CONTAINER_CREATED', image: subject.image });
    await cri.startContainer(id);
    const running = await cri.containerStatus(id);
    t.match(running, { state: 'CONTAINER_RUNNING', annotations: { hash: '1' } });
    t.ok(running.startedAt >= running.createdAt - 1);
    t.equal((await cri.listContainers({ podSandboxId: sandboxId, state: 'CONTAINER_RUNNING' })).length, 1);

    const sync = await cri.execSync({
      containerId: id,
      cmd: ['sh', '-c', 'echo out; echo err >&2; exit 3'],
      timeoutSeconds: 10,
    });
    t.match(
      { ...sync, stdout: String(sync.stdout), stderr: String(sync.stderr) },
      { stdout: 'out\n', stderr: 'err\n', exitCode: 3 },
    );
    await t.rejects(cri.execSync({ containerId: id, cmd: ['sleep', '30'], timeoutSeconds: 1 }), {
      code: 'DeadlineExceeded',
    });

    const stdout = new Sink();
    const streams = {
      tty: false,
      stdin: Readable.from([Buffer.from('one\n'), Buffer.from('two\n')]),
      stdout,
      stderr: new Sink(),
    };
    t.equal(await cri.exec({ containerId: id, cmd: ['sh', '-c', 'cat; exit 4'] }, streams), 4);
    t.equal(stdout.text, 'one\ntwo\n');

    const log = await subject.logFiles.open(`${sandbox.logDirectory}/main.log`);
    t.match((await log?.read(0, 4096))?.toString(), /^\d{4}-\d\d-\d\dT\S+ stdout F started\n/);
    await log?.close();

    await cri.stopContainer(id, 1);
    await cri.stopContainer(id, 1);
    const stopped = await cri.containerStatus(id);
    t.equal(stopped.state, 'CONTAINER_EXITED');
    t.ok(stopped.exitCode === 143 || stopped.exitCode === 137);
    t.ok(stopped.finishedAt >= stopped.startedAt);
    await cri.removeContainer(id);
    await cri.removeContainer(id);
    await t.rejects(cri.containerStatus(id), { code: 'NotFound' });
  });

  t.test('an exit causes an event and keeps its code', async (t) => {
    const subject = await newSubject();
    const { cri } = subject;
    const seen = new Set<string>();
    let connected = false;
    const stop = cri.subscribe({ onEvent: (event) => seen.add(event.id), onConnected: (is) => (connected = is) });
    t.teardown(stop);
    await until(async () => connected);
    const sandbox = sandboxConfig(subject, 'c');
    const sandboxId = await cri.runPodSandbox(sandbox);
    t.teardown(async () => cri.removePodSandbox(sandboxId));
    const id = await cri.createContainer(sandboxId, containerConfig(subject, 'short', ['sh', '-c', 'exit 7']), sandbox);
    await cri.startContainer(id);
    await until(async () => (await cri.containerStatus(id)).state === 'CONTAINER_EXITED');
    t.match(await cri.containerStatus(id), { exitCode: 7, reason: 'Error' });
    await until(async () => seen.has(id));
  });

  t.test('images can be listed, and inspected by name and ID', async (t) => {
    const { cri, image } = await newSubject();
    const status = await cri.imageStatus(image);
    t.ok(status?.id.startsWith('sha256:'));
    t.equal((await cri.imageStatus(status?.id ?? ''))?.id, status?.id);
    t.equal(await cri.imageStatus('localhost/none:1'), undefined);
    t.ok((await cri.listImages()).some((i) => i.repoTags.includes(image)));
    await cri.removeImage('localhost/none:1');
  });

  t.test('calls for missing objects fail with NotFound', async (t) => {
    const { cri, ...subject } = await newSubject();
    const absent = 'f'.repeat(64);
    await t.rejects(cri.startContainer(absent), { code: 'NotFound' });
    await t.rejects(cri.execSync({ containerId: absent, cmd: ['true'], timeoutSeconds: 1 }), { code: 'NotFound' });
    const sandbox = sandboxConfig({ cri, ...subject }, 'd');
    const config = containerConfig({ cri, ...subject }, 'x', []);
    await t.rejects(cri.createContainer(absent, config, sandbox), { code: 'NotFound' });
    await cri.stopContainer(absent, 1);
    await cri.removeContainer(absent);
  });
}
