/**
 * A CSI driver for tests: real gRPC, real bind mounts and loop devices. It records what is staged and published, refuses
 * calls in the wrong order, and fails or hangs as tests say.
 */
import { execFile } from 'node:child_process';
import { mkdir, open, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { mountsOn } from '#nodeagent/files/mounts.js';
import { csiV1 } from '#nodeagent/protocols/csi-v1.gen.js';

const run = promisify(execFile);

type Message = Record<string, unknown>;

/** What a test does to a call: a code instead of the effect, a code after it, or no answer. */
export type Fault =
  | { readonly code: keyof typeof status; readonly after?: boolean; readonly message?: string }
  | 'hang'
  | 'hang after'
  | undefined;

export interface TestDriverOptions {
  /** For the volumes' data. */
  readonly dir: string;
  readonly socket: string;
  readonly capabilities?: readonly string[];
  readonly info?: Message;
  readonly fault?: (method: string, request: Message) => Fault;
}

export interface Call {
  readonly method: string;
  readonly request: Message;
}

const all = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS', 'EXPAND_VOLUME'];
const root = protobuf.Root.fromJSON(csiV1);

class Refusal extends Error {
  readonly code: status;
  constructor(code: keyof typeof status, message: string) {
    super(message);
    this.code = status[code];
  }
}

export class TestDriver {
  readonly calls: Call[] = [];
  /** Staging path, by volume. */
  readonly staged = new Map<string, string>();
  /** Volume, by target path. */
  readonly published = new Map<string, string>();
  /** Loop device, by volume. */
  readonly #loops = new Map<string, string>();
  readonly #options: TestDriverOptions;
  fault: TestDriverOptions['fault'];
  capabilities: readonly string[];
  info: Message;
  /** Replaces the usage of all volumes. */
  stats: Message | undefined;
  #server: Server | undefined;
  /** Calls that wait for ever. */
  readonly #hanging: (() => void)[] = [];

  constructor(options: TestDriverOptions) {
    this.#options = options;
    this.fault = options.fault;
    this.capabilities = options.capabilities ?? all;
    this.info = options.info ?? { nodeId: 'id-of-node' };
  }

  async start(): Promise<void> {
    const server = new Server();
    for (const name of ['Identity', 'Node', 'Controller']) {
      const service = root.lookupService(`csi.v1.${name}`);
      const definitions: Record<string, object> = {};
      const implementation: Record<string, unknown> = {};
      for (const method of service.methodsArray) {
        const [request, response] = [method.requestType, method.responseType].map((each) =>
          root.lookupType(`csi.v1.${each}`),
        ) as [protobuf.Type, protobuf.Type];
        definitions[method.name] = {
          path: `/csi.v1.${name}/${method.name}`,
          requestStream: false,
          responseStream: false,
          requestSerialize: (value: Message) => Buffer.from(request.encode(request.fromObject(value)).finish()),
          requestDeserialize: (bytes: Buffer) =>
            request.toObject(request.decode(bytes), { longs: Number, enums: String }),
          responseSerialize: (value: Message) => Buffer.from(response.encode(response.fromObject(value)).finish()),
          responseDeserialize: (bytes: Buffer) => response.toObject(response.decode(bytes)),
        };
        implementation[method.name] = (call: ServerUnaryCall<Message, Message>, answer: sendUnaryData<Message>) => {
          this.#handle(method.name, call.request).then(
            (response) => answer(null, response),
            (error: Error & { code?: status }) =>
              answer({ code: error.code ?? status.INTERNAL, details: error.message }),
          );
        };
      }
      // The library's types describe generated services only.
      server.addService(definitions as never, implementation as never);
    }
    await rm(this.#options.socket, { force: true });
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(`unix:${this.#options.socket}`, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
    this.#server = server;
  }

  /** The driver's process ends; its mounts stay. */
  async stop(): Promise<void> {
    this.#server?.forceShutdown();
    this.#server = undefined;
    this.release();
    await rm(this.#options.socket, { force: true });
  }

  /** Lets hanging calls fail. */
  release(): void {
    for (const end of this.#hanging.splice(0)) end();
  }

  /** Removes all mounts and devices. */
  async clean(): Promise<void> {
    for (const target of [...this.published.keys()]) await this.#unmount(target);
    for (const path of this.staged.values()) await this.#unmount(path);
    for (const loop of this.#loops.values()) await run('losetup', ['-d', loop]);
    this.#loops.clear();
  }

  /** The calls of some methods, as text. */
  log(...methods: string[]): string[] {
    return this.calls.map(({ method }) => method).filter((method) => methods.length === 0 || methods.includes(method));
  }

  async #handle(method: string, request: Message): Promise<Message> {
    this.calls.push({ method, request });
    const fault = this.fault?.(method, request);
    if (fault === 'hang') await this.#hang();
    if (typeof fault === 'object' && fault.after !== true) throw new Refusal(fault.code, fault.message ?? 'as told');
    const response = await this.#perform(method, request);
    if (fault === 'hang after') await this.#hang();
    if (typeof fault === 'object') throw new Refusal(fault.code, fault.message ?? 'as told');
    return response;
  }

  #hang(): Promise<never> {
    return new Promise((_, reject) => {
      this.#hanging.push(() => reject(new Refusal('ABORTED', 'the driver ended')));
    });
  }

  async #perform(method: string, request: Message): Promise<Message> {
    switch (method) {
      case 'NodeGetInfo':
        return this.info;
      case 'NodeGetCapabilities':
        return { capabilities: this.capabilities.map((type) => ({ rpc: { type } })) };
      case 'NodeStageVolume':
        return this.#stage(request);
      case 'NodeUnstageVolume':
        return this.#unstage(request);
      case 'NodePublishVolume':
        return this.#publish(request);
      case 'NodeUnpublishVolume':
        return this.#unpublish(request);
      case 'NodeExpandVolume':
        return { capacityBytes: (request['capacityRange'] as Message)['requiredBytes'] };
      case 'NodeGetVolumeStats':
        return (
          this.stats ?? {
            usage: [
              { unit: 'BYTES', total: 1000, used: 400, available: 600 },
              { unit: 'INODES', total: 10, used: 4, available: 6 },
            ],
          }
        );
      case 'GetPluginInfo':
        return { name: 'test.driver', vendorVersion: '1' };
      case 'Probe':
        return { ready: { value: true } };
      default:
        throw new Refusal('UNIMPLEMENTED', `no ${method}`);
    }
  }

  async #data(id: string): Promise<string> {
    const data = join(this.#options.dir, id);
    await mkdir(data, { recursive: true });
    return data;
  }

  async #device(id: string): Promise<string> {
    const existing = this.#loops.get(id);
    if (existing !== undefined) return existing;
    const file = join(this.#options.dir, `${id}.img`);
    const handle = await open(file, 'a');
    await handle.truncate(1 << 20);
    await handle.close();
    const { stdout } = await run('losetup', ['-f', '--show', file]);
    this.#loops.set(id, stdout.trim());
    return stdout.trim();
  }

  async #stage({ volumeId, stagingTargetPath, volumeCapability }: Message): Promise<Message> {
    const [id, path] = [String(volumeId), String(stagingTargetPath)];
    const other = this.staged.get(id);
    if (other !== undefined && other !== path) throw new Refusal('FAILED_PRECONDITION', `${id} is staged at ${other}`);
    if ((volumeCapability as Message)['block'] !== undefined) await this.#device(id);
    else if ((await mountsOn(path)).length === 0) await run('mount', ['--bind', await this.#data(id), path]);
    this.staged.set(id, path);
    return {};
  }

  async #unstage({ volumeId, stagingTargetPath }: Message): Promise<Message> {
    const [id, path] = [String(volumeId), String(stagingTargetPath)];
    const user = [...this.published].find(([, volume]) => volume === id)?.[0];
    if (user !== undefined) throw new Refusal('FAILED_PRECONDITION', `${id} is still published at ${user}`);
    await this.#unmount(path);
    const loop = this.#loops.get(id);
    if (loop !== undefined) await run('losetup', ['-d', loop]);
    this.#loops.delete(id);
    this.staged.delete(id);
    return {};
  }

  async #publish(request: Message): Promise<Message> {
    const [id, target] = [String(request['volumeId']), String(request['targetPath'])];
    const isBlock = (request['volumeCapability'] as Message)['block'] !== undefined;
    const staging = String(request['stagingTargetPath'] ?? '');
    if (staging !== '' && !this.staged.has(id) && this.capabilities.includes('STAGE_UNSTAGE_VOLUME'))
      throw new Refusal('FAILED_PRECONDITION', `${id} is not staged`);
    this.published.set(target, id);
    if ((await mountsOn(target)).length > 0) return {};
    if (isBlock) {
      await (await open(target, 'a')).close();
      await run('mount', ['--bind', await this.#device(id), target]);
      return {};
    }
    await mkdir(target, { recursive: true });
    await run('mount', ['--bind', await this.#data(id), target]);
    if (request['readonly'] === true) await run('mount', ['-o', 'remount,bind,ro', target]);
    return {};
  }

  async #unpublish({ targetPath }: Message): Promise<Message> {
    const target = String(targetPath);
    await this.#unmount(target);
    await rm(target, { force: true }).catch(() => rmdir(target));
    this.published.delete(target);
    return {};
  }

  async #unmount(path: string): Promise<void> {
    while ((await mountsOn(path)).length > 0) await run('umount', [path]);
  }
}
