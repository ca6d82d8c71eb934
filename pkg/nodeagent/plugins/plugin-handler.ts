/** What a part of the agent does with plugins of its type: device plugins, CSI drivers. */

/** A plugin as its socket describes it. */
export interface RegisteredPlugin {
  readonly name: string;
  /** The socket of the plugin's service; the registration's own socket if the plugin names none. */
  readonly endpoint: string;
  /** Versions of the service, such as `v1beta1` or `1.0.0`. */
  readonly versions: readonly string[];
}

/** The calls of one socket follow each other; `deregister` only follows `register`, failed or not. */
export interface PluginHandler {
  /** Throws if the plugin cannot be used; the plugin gets the message, and is asked again after a while. */
  validate(plugin: RegisteredPlugin): void | Promise<void>;
  /** Throws if the registration fails; the plugin gets the message and must make its socket again. */
  register(plugin: RegisteredPlugin): void | Promise<void>;
  /** The socket is gone or was made again. */
  deregister(name: string): void | Promise<void>;
}

/** Types of plugins in the registration protocol. */
export type PluginType = 'CSIPlugin' | 'DevicePlugin';
