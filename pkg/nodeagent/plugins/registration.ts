/** The registration protocol, version 1, with a plugin's socket (pluginmanager/operationexecutor of 1.24). */
import protobuf from 'protobufjs';
import { messageOf } from '#apimachinery/errors/message.js';
import { GrpcChannel, type Message } from '#nodeagent/grpc/channel.js';
import type { PluginHandler, RegisteredPlugin } from '#nodeagent/plugins/plugin-handler.js';
import { pluginRegistrationV1 } from '#nodeagent/protocols/plugin-registration-v1.gen.js';

const service = 'pluginregistration.Registration';
const dialMs = 10_000;
const infoMs = 1000;
const notifyMs = 5000;
/** A plugin describes itself in some hundred bytes. */
const maxMessageBytes = 64 * 1024;
/** Bounds what logs, metrics and statuses repeat of a plugin. */
const maxNameLength = 253;
const maxVersions = 64;

export interface RegistrationInput {
  readonly socket: string;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  /** Called between validation and registration, so that a socket that disappears meanwhile is deregistered. */
  onAccepted(plugin: RegisteredPlugin, handler: PluginHandler): void;
  /** Ends the calls. */
  readonly signal: AbortSignal;
}

/** Resolves once the plugin knows that it is registered. Throws with the words of 1.24. */
export async function registerPlugin({ socket, handlers, onAccepted, signal }: RegistrationInput): Promise<void> {
  const channel = new GrpcChannel({
    ...{ socket, maxMessageBytes, timeoutMs: notifyMs, strictText: true },
    root: protobuf.Root.fromJSON(pluginRegistrationV1),
  });
  const notify = (status: Message) => channel.call(`${service}/NotifyRegistrationStatus`, status, notifyMs, signal);
  const close = () => channel.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    await channel.ready(dialMs).catch(failing(`dial failed at socket ${socket}, err`));
    const info = await channel
      .call(`${service}/GetInfo`, {}, infoMs, signal)
      .catch(failing(`failed to get plugin info using RPC GetInfo at socket ${socket}, err`));
    const { type, plugin } = pluginOf(info, socket);
    const refuse = async (message: string): Promise<void> => {
      const error = `RegisterPlugin error -- ${message}`;
      await notify({ pluginRegistered: false, error }).catch(
        failing(`failed to send error at socket ${socket}, err: ${error}`),
      );
    };
    const handler = handlers.get(type);
    if (handler === undefined) {
      const problem = `no handler registered for plugin type: ${type} at socket ${socket}`;
      await refuse(problem);
      throw new Error(`RegisterPlugin error -- ${problem}`);
    }
    try {
      checkPlugin(plugin);
      await handler.validate(plugin);
    } catch (error) {
      const problem = `plugin validation failed with err: ${messageOf(error)}`;
      await refuse(problem);
      throw new Error(`RegisterPlugin error -- ${problem}`, { cause: error });
    }
    onAccepted(plugin, handler);
    try {
      await handler.register(plugin);
    } catch (error) {
      const problem = `plugin registration failed with err: ${messageOf(error)}`;
      await refuse(problem);
      throw new Error(`RegisterPlugin error -- ${problem}`, { cause: error });
    }
    await notify({ pluginRegistered: true, error: '' }).catch(
      failing(`failed to send registration status at socket ${socket}, err`),
    );
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

function failing(what: string): (error: unknown) => never {
  return (error) => {
    throw new Error(`RegisterPlugin error -- ${what}: ${messageOf(error)}`, { cause: error });
  };
}

function pluginOf(info: Message, socket: string): { readonly type: string; readonly plugin: RegisteredPlugin } {
  const endpoint = String(info['endpoint'] ?? '');
  return {
    type: String(info['type'] ?? ''),
    plugin: {
      name: String(info['name'] ?? ''),
      endpoint: endpoint === '' ? socket : endpoint,
      versions: ((info['supportedVersions'] ?? []) as unknown[]).map(String),
    },
  };
}

/** 1.24 has no such limits. Throws RangeError. */
function checkPlugin({ name, versions }: RegisteredPlugin): void {
  if (name.length > maxNameLength) throw new RangeError(`the name is longer than ${maxNameLength} characters`);
  if (versions.length > maxVersions) throw new RangeError(`there are more than ${maxVersions} versions`);
}
