/** Registers CSI drivers whose sockets the plugin watcher finds. Rules and texts of 1.24. */
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import type { Drivers } from '#nodeagent/csi/driver/drivers.js';
import { compareVersions, highestSupportedVersion, type Version } from '#nodeagent/csi/driver/versions.js';
import type { NodeObjects } from '#nodeagent/csi/registration/node-objects.js';
import type { PluginHandler, RegisteredPlugin } from '#nodeagent/plugins/plugin-handler.js';

export interface DriverHandlerOptions {
  readonly drivers: Drivers;
  readonly nodeObjects: Pick<NodeObjects, 'install' | 'uninstall'>;
  readonly log: Logger;
  /** Begins messages. */
  readonly pluginName: string;
  /** A driver can be used from now on. */
  readonly onRegistered: () => void;
}

export class DriverHandler implements PluginHandler {
  readonly #options: DriverHandlerOptions;

  constructor(options: DriverHandlerOptions) {
    this.#options = options;
  }

  /** Throws Error for a plugin that must not be registered. */
  async validate(plugin: RegisteredPlugin): Promise<void> {
    const { name, endpoint } = plugin;
    try {
      this.#version('ValidatePlugin', plugin);
    } catch (error) {
      const message = `validation failed for CSI Driver ${name} at endpoint ${endpoint}: ${messageOf(error)}`;
      throw new Error(message, { cause: error });
    }
  }

  /** Asks the driver about the node and tells the API. Throws Error; the driver is then not registered. */
  async register(plugin: RegisteredPlugin): Promise<void> {
    const { drivers, nodeObjects, log } = this.#options;
    const { name, endpoint } = plugin;
    const version = this.#version('RegisterPlugin', plugin);
    drivers.set(name, { endpoint, version });
    try {
      const info = await drivers.operate(name, (service) => service.info());
      await nodeObjects.install(name, info);
    } catch (error) {
      await this.deregister(name);
      throw error;
    }
    log.info({ driver: name, endpoint }, 'registered a CSI driver');
    this.#options.onRegistered();
  }

  /** The plugin's socket is gone. Never rejects. */
  async deregister(name: string): Promise<void> {
    const { drivers, nodeObjects, log } = this.#options;
    drivers.delete(name);
    try {
      await nodeObjects.uninstall(name);
    } catch (error) {
      log.error({ err: error, driver: name }, 'failed to uninstall a CSI driver');
    }
  }

  #version(caller: string, { name, versions }: RegisteredPlugin): Version {
    const { drivers, pluginName } = this.#options;
    const failed = (why: string) => new Error(`${pluginName}: ${caller} for CSI driver "${name}" failed. ${why}`);
    if (versions.length === 0) throw failed('Plugin returned an empty list for supported versions');
    let version: Version;
    try {
      version = highestSupportedVersion(versions);
    } catch (error) {
      const list = versions.map((each) => JSON.stringify(each)).join(' ');
      throw failed(`None of the versions specified [${list}] are supported. err=${messageOf(error)}`);
    }
    const existing = drivers.get(name);
    if (existing !== undefined && compareVersions(existing.version, version) >= 0) {
      const highest = existing.version.join('.');
      throw failed(
        `Another driver with the same name is already registered with a higher supported version: "${highest}"`,
      );
    }
    return version;
  }
}
