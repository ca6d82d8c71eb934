/** Lets device plugins register, at the agent's own socket and by theirs, and follows their devices. */
import { lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { isExtendedResource } from '#api/core/v1/resources/names.js';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import type { DeviceManager } from '#nodeagent/devices/device-manager.js';
import { PluginEndpoint, type PluginOptions, pluginOptionsOf } from '#nodeagent/devices/plugin-endpoint.js';
import type { Message } from '#nodeagent/grpc/channel.js';
import { GrpcServer } from '#nodeagent/grpc/server.js';
import type { PluginHandler, RegisteredPlugin } from '#nodeagent/plugins/plugin-handler.js';
import { devicePluginV1beta1 } from '#nodeagent/protocols/device-plugin-v1beta1.gen.js';

export interface DevicePluginsOptions {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of sockets and the checkpoint. */
  readonly directory: string;
  readonly devices: DeviceManager;
  /** A plugin registers a resource. */
  readonly onRegistration: (resource: string) => void;
}

/** Names that plugins and other agents expect in the directory. */
export const checkpointName = 'kubelet_internal_checkpoint';
const socketName = 'kubelet.sock';
const deprecationName = 'DEPRECATION';
const version = 'v1beta1';
/** 1.24 has no limit; it bounds the node's status. */
const maxResources = 256;

export class DevicePlugins implements PluginHandler {
  readonly #options: DevicePluginsOptions;
  readonly #server: GrpcServer;
  readonly #watching = new Set<Promise<void>>();
  /** Open, and those that are connecting. */
  readonly #endpoints = new Set<PluginEndpoint>();
  #isStopped = false;

  constructor(options: DevicePluginsOptions) {
    this.#options = options;
    this.#server = new GrpcServer({
      clock: options.clock,
      socket: join(options.directory, socketName),
      root: protobuf.Root.fromJSON(devicePluginV1beta1),
      services: [{ name: `${version}.Registration`, unary: { Register: (request) => this.#onRegister(request) } }],
    });
  }

  /** Restores the devices of pods and opens the socket. Plugins that see it appear register again. */
  async start(): Promise<void> {
    const { devices, directory, log } = this.#options;
    await devices.restore();
    try {
      await mkdir(directory, { recursive: true, mode: 0o750 });
      await this.#removeStale();
      await this.#server.start();
      // As in 1.24: plugins shall use the other directory for their sockets.
      await writeFile(join(directory, deprecationName), '');
    } catch (error) {
      log.error({ err: error, directory }, 'failed to listen for device plugins');
    }
  }

  /** Ends all connections. Containers keep their devices. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#server.close();
    for (const endpoint of this.#endpoints) endpoint.stop();
    await Promise.all(this.#watching);
    // Also waits for writes in progress.
    await this.#options.devices.save();
  }

  /** Everything but the checkpoint and directories. */
  async #removeStale(): Promise<void> {
    const { directory, log } = this.#options;
    for (const name of await readdir(directory)) {
      const path = join(directory, name);
      if (name === checkpointName) continue;
      try {
        if (!(await lstat(path)).isDirectory()) await rm(path, { force: true });
      } catch (error) {
        log.error({ err: error, path }, 'failed to remove a file beside device plugins');
      }
    }
  }

  /** Throws with 1.24's words. */
  #onRegister({ version: requested, endpoint, resourceName, options }: Message): Message {
    const resource = String(resourceName);
    if (requested !== version) {
      const agent = this.#options.dialect.components.nodeAgent;
      const supported = `Supported version is [${JSON.stringify(version)}]`;
      throw new Error(`requested API version ${JSON.stringify(requested)} is not supported by ${agent}. ${supported}`);
    }
    this.#checkName(resource);
    this.#options.onRegistration(resource);
    const socket = join(this.#options.directory, String(endpoint));
    this.#track(this.#add({ resource, socket, options: pluginOptionsOf(options as Message | null) }));
    return {};
  }

  validate({ name, versions }: RegisteredPlugin): void {
    if (!versions.includes(version))
      throw new Error(`manager version, ${version}, is not among plugin supported versions [${versions.join(' ')}]`);
    try {
      this.#checkName(name);
    } catch (error) {
      throw new Error(`invalid name of device plugin socket: ${messageOf(error)}`, { cause: error });
    }
  }

  async register({ name, endpoint: socket }: RegisteredPlugin): Promise<void> {
    const endpoint = this.#newEndpoint(socket, name);
    let options: PluginOptions;
    try {
      await endpoint.connect().catch((error: unknown) => {
        throw new Error(`failed to dial device plugin with socketPath ${socket}: ${messageOf(error)}`, {
          cause: error,
        });
      });
      options = await endpoint.pluginOptions().catch((error: unknown) => {
        throw new Error(`failed to get device plugin options: ${messageOf(error)}`, { cause: error });
      });
    } catch (error) {
      this.#end(endpoint);
      throw error;
    }
    this.#follow(name, endpoint, options);
  }

  deregister(name: string): void {
    const { endpoint } = this.#options.devices.inventory.endpoint(name) ?? {};
    if (endpoint instanceof PluginEndpoint) endpoint.stop();
  }

  #checkName(resource: string): void {
    const { dialect, devices } = this.#options;
    if (!isExtendedResource(resource, dialect))
      throw new Error(`the ResourceName ${JSON.stringify(resource)} is invalid`);
    const { inventory } = devices;
    if (inventory.size >= maxResources && inventory.endpoint(resource) === undefined)
      throw new Error(`there are device plugins of ${maxResources} resources already`);
  }

  /** The plugin registers first and may serve a moment after that. */
  async #add({ resource, socket, options }: Addition): Promise<void> {
    const endpoint = this.#newEndpoint(socket, resource);
    try {
      await endpoint.connect();
    } catch (error) {
      this.#end(endpoint);
      this.#options.log.error({ err: error, resource, socket }, 'failed to connect to a device plugin');
      return;
    }
    this.#follow(resource, endpoint, options);
  }

  #follow(resource: string, endpoint: PluginEndpoint, options: PluginOptions): void {
    const { devices, log } = this.#options;
    const { inventory } = devices;
    const old = inventory.endpoint(resource)?.endpoint;
    inventory.register(resource, { endpoint, options });
    if (old instanceof PluginEndpoint) old.stop();
    log.info({ resource }, 'registered a device plugin');
    const isCurrent = () => inventory.endpoint(resource)?.endpoint === endpoint;
    const watching = endpoint.watch(async (list) => {
      if (!isCurrent()) return;
      inventory.report(resource, list);
      await devices.save();
    });
    this.#track(
      watching.then((error) => {
        this.#end(endpoint);
        if (isCurrent() && !this.#isStopped) inventory.markUnhealthy(resource);
        log.info({ err: error, resource }, 'a device plugin is gone');
      }),
    );
  }

  #newEndpoint(socket: string, resource: string): PluginEndpoint {
    const endpoint = new PluginEndpoint({ socket, resource, clock: this.#options.clock });
    this.#endpoints.add(endpoint);
    if (this.#isStopped) endpoint.stop();
    return endpoint;
  }

  #end(endpoint: PluginEndpoint): void {
    endpoint.stop();
    this.#endpoints.delete(endpoint);
  }

  #track(work: Promise<void>): void {
    this.#watching.add(work);
    void work.finally(() => this.#watching.delete(work));
  }
}

interface Addition {
  readonly resource: string;
  readonly socket: string;
  readonly options: PluginOptions;
}
